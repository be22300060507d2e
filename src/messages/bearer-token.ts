/** Whether a text is made as a bearer token is (RFC 6750, 2.1), of whatever length. */
export function isBearerToken(text: string): boolean {
  return /^[A-Za-z0-9\-._~+/]+=*$/.test(text);
}
