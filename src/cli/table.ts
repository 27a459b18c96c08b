/** Rows under their headings, padded, as wide as the terminal at most. Control characters become spaces. */
export function table(
  headings: readonly string[],
  rows: readonly (readonly string[])[],
  widthMax: number = terminalWidth(),
): string {
  return aligned([headings, ...rows], widthMax);
}

/**
 * Rows in columns, padded. What is wider than `widthMax` goes on below, in its own column: words first, and words that are
 * too long are cut only where nothing else helps.
 */
export function aligned(rows: readonly (readonly string[])[], widthMax: number = terminalWidth()): string {
  const cells = rows.map((row) => row.map(plain));
  const widths = fitting(cells, widthMax);
  return cells.flatMap((row) => linesOf(row, widths)).join('\n');
}

/** Columns of the terminal that reads standard output; infinite where none does. */
function terminalWidth(): number {
  return process.stdout.isTTY === true ? process.stdout.columns || Infinity : Infinity;
}

const gap = '  ';
/** Below it a column is no column. */
const cutWidthMin = 8;

function fitting(rows: readonly (readonly string[])[], widthMax: number): number[] {
  const count = Math.max(...rows.map((row) => row.length));
  const columns = Array.from({ length: count }, (_, at) => rows.map((row) => row[at] ?? ''));
  const widths = columns.map((cells) => Math.max(...cells.map((cell) => cell.length)));
  const longestWords = columns.map((cells) => Math.max(...cells.map(longestWord)));
  let over = widths.reduce((sum, width) => sum + width, gap.length * (count - 1)) - widthMax;
  // An empty last column has no gap before it that could be seen.
  if (widths.at(-1) === 0) over -= gap.length;
  for (const floors of [longestWords, widths.map((width) => Math.min(width, cutWidthMin))]) {
    while (over > 0) {
      const widest = widestAbove(widths, floors);
      if (widest === null) break;
      widths[widest]! -= 1;
      over -= 1;
    }
  }
  return widths;
}

function widestAbove(widths: readonly number[], floors: readonly number[]): number | null {
  let widest: number | null = null;
  for (const [at, width] of widths.entries()) {
    if (width > floors[at]! && (widest === null || width > widths[widest]!)) widest = at;
  }
  return widest;
}

function longestWord(text: string): number {
  return Math.max(...text.split(' ').map((word) => word.length));
}

function linesOf(row: readonly string[], widths: readonly number[]): string[] {
  const wrapped = widths.map((width, at) => wrap(row[at] ?? '', width));
  const height = Math.max(...wrapped.map((lines) => lines.length));
  return Array.from({ length: height }, (_, line) =>
    wrapped
      .map((lines, at) => (lines[line] ?? '').padEnd(widths[at]!))
      .join(gap)
      .trimEnd(),
  );
}

/** Lines of at most `width`; at least one. */
function wrap(text: string, width: number): string[] {
  if (text.length <= width) return [text];
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    const longer = line === '' ? word : `${line} ${word}`;
    if (longer.length <= width) {
      line = longer;
      continue;
    }
    if (line !== '') lines.push(line);
    line = word;
    for (; line.length > width; line = line.slice(width)) lines.push(line.slice(0, width));
  }
  return [...lines, line];
}

/** Names and messages come from other machines: none of them steers the terminal. */
export function plain(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
  return text.replace(/[\u0000-\u001f\u007f-\u009f]+/g, ' ');
}
