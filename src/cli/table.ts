import { lineWidth } from './line-width.ts';

/** Rows under their headings, padded, as wide as the terminal at most. Control characters become spaces. */
export function table(
  headings: readonly string[],
  rows: readonly (readonly string[])[],
  widthMax: number = lineWidth(process.stdout),
): string {
  return aligned([headings, ...rows], widthMax);
}

/**
 * Rows in padded columns. When the table is wider than `widthMax`, long cells continue below, in their own column; when
 * that is not enough, a row continues in further indented lines. Words, such as ids, are cut only when one alone is
 * wider than the terminal.
 */
export function aligned(rows: readonly (readonly string[])[], widthMax: number = lineWidth(process.stdout)): string {
  const cells = rows.map((row) => row.map(plain));
  const natural = widthsOf(cells);
  const fitted = fitting(cells, natural, widthMax);
  const groups = fitted === null ? folded(natural, widthMax) : [fitted];
  return cells.flatMap((row) => linesOf(row, groups)).join('\n');
}

const gap = '  ';
/** A column of prose is not made narrower than this: it would be a tower of single words. */
const proseWidthMin = 24;

function widthsOf(rows: readonly (readonly string[])[]): number[] {
  const count = Math.max(...rows.map((row) => row.length));
  return Array.from({ length: count }, (_, at) => Math.max(...rows.map((row) => (row[at] ?? '').length)));
}

/**
 * Widths that together fit, the widest column giving way first; null where none do without cutting a word. A heading,
 * which is in the first row, may take a line for each word.
 */
function fitting(rows: readonly (readonly string[])[], natural: readonly number[], widthMax: number): number[] | null {
  const below = widthsOf(rows.length > 1 ? rows.slice(1) : rows);
  const columns = natural.map((width, at) => {
    const longestWord = Math.max(...rows.flatMap((row) => (row[at] ?? '').split(' ').map((word) => word.length)));
    return { width, floor: Math.max(longestWord, Math.min(below[at] ?? 0, proseWidthMin)) };
  });
  for (let over = joined(natural) - widthMax; over > 0; over -= 1) {
    const widest = columns.reduce<(typeof columns)[number] | null>(
      (best, column) => (column.width > column.floor && (best === null || column.width > best.width) ? column : best),
      null,
    );
    if (widest === null) return null;
    widest.width -= 1;
  }
  return columns.map(({ width }) => width);
}

/** Width of neighbouring columns. An empty last column has no gap before it. */
function joined(widths: readonly number[]): number {
  const seen = widths.at(-1) === 0 ? widths.slice(0, -1) : widths;
  return seen.reduce((sum, width) => sum + width, gap.length * (seen.length - 1));
}

/** The columns in lines that fit each, in their order; all but the first line are indented. */
function folded(natural: readonly number[], widthMax: number): number[][] {
  let group: number[] = [];
  const groups = [group];
  for (const width of natural) {
    const indent = groups.length === 1 ? 0 : gap.length;
    if (group.length > 0 && indent + joined([...group, width]) > widthMax) {
      group = [Math.min(width, widthMax - gap.length)];
      groups.push(group);
    } else group.push(Math.min(width, widthMax - indent));
  }
  return groups;
}

function linesOf(row: readonly string[], groups: readonly (readonly number[])[]): string[] {
  let first = 0;
  return groups.flatMap((widths, line) => {
    const wrapped = widths.map((width, at) => ({ width, lines: wrap(row[first + at] ?? '', width) }));
    first += widths.length;
    const height = Math.max(...wrapped.map(({ lines }) => lines.length));
    return Array.from({ length: height }, (_, at) => {
      const text = wrapped.map(({ width, lines }) => (lines[at] ?? '').padEnd(width)).join(gap);
      return `${line === 0 ? '' : gap}${text}`.trimEnd();
    });
  });
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

/** The same of a text of several lines. */
export function plainLines(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]+/g, ' ');
}

/** Names and messages come from other machines: none of them steers the terminal. */
export function plain(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
  return text.replace(/[\u0000-\u001f\u007f-\u009f]+/g, ' ');
}
