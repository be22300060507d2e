/** A command hands its exit code here, since commander's actions return nothing. */
export type Finish = (code: number) => void;
