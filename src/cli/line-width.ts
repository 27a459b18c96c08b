const unknownWidth = 80;

/** Columns of a terminal, 80 where it does not say. Infinite for a file or a pipe: lines of those are searched, not read. */
export function lineWidth(stream: { isTTY?: boolean; columns?: number }): number {
  return stream.isTTY === true ? stream.columns || unknownWidth : Infinity;
}

/** Width of help: what is printed elsewhere is read, too. Longer lines than 100 are hard to read. */
export function helpWidth(stream: { isTTY?: boolean; columns?: number }): number {
  return stream.isTTY === true ? Math.min(lineWidth(stream), 100) : unknownWidth;
}

/** Breaks lines at spaces, indented as each line is. Words that alone are wider, such as URLs, stay whole to be copied. */
export function fitted(text: string, width: number): string {
  return text
    .split('\n')
    .flatMap((line) => linesOf(line, width))
    .join('\n');
}

function linesOf(line: string, width: number): string[] {
  if (line.length <= width) return [line];
  const [indent = ''] = /^ */.exec(line) ?? [];
  const lines: string[] = [];
  let current = '';
  for (const word of line.slice(indent.length).split(' ')) {
    const longer = current === '' ? indent + word : `${current} ${word}`;
    if (longer.length > width && current !== '') {
      lines.push(current);
      current = indent + word;
    } else current = longer;
  }
  return [...lines, current];
}
