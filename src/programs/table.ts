/**
 * An aligned table for a terminal: two blanks between columns, none at the end of a line. Columns whose cells all look
 * like figures are aligned to the right.
 */
export function renderTable(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = header.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => (row[column] ?? "").length)),
  );
  const toTheRight = header.map((_, column) => rows.length > 0 && rows.every((row) => isFigure(row[column] ?? "")));
  const line = (cells: readonly string[]): string =>
    header
      .map((_, column) => {
        const cell = cells[column] ?? "";
        const width = widths[column] ?? 0;
        return toTheRight[column] ? cell.padStart(width) : cell.padEnd(width);
      })
      .join("  ")
      .trimEnd();
  return `${[header, ...rows].map(line).join("\n")}\n`;
}

function isFigure(cell: string): boolean {
  return /^(-|[\d.,]+( ?(%|[KMGTPE]?i?B|ms|s))?)$/.test(cell);
}
