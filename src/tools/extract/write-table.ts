import { isElement, type PageElement, type PageNode } from './page-document.ts';
import { writeInline } from './write-inline.ts';

const columnsMax = 100;

/** GitHub's table; tables that hold others, or one column, are layout: their cells are blocks like any other. */
export function writeTable(table: PageElement, blocksIn: (parent: PageNode) => string[]): string[] {
  const rows = rowsOf(table).map((row) => cellsOf(row));
  const columns = Math.min(columnsMax, Math.max(0, ...rows.map((cells) => cells.length)));
  if (columns < 2 || table.querySelector('table') !== null) return rows.flat().flatMap((cell) => blocksIn(cell));
  const caption = table.querySelector('caption');
  const [head, ...body] = rows.map((cells) => cells.map((cell) => cellText(cell, blocksIn)));
  const line = (cells: readonly string[]) =>
    `| ${Array.from({ length: columns }, (_, at) => cells[at] ?? '').join(' | ')} |`;
  const rule = `|${' --- |'.repeat(columns)}`;
  const written = [line(head!), rule, ...body.map(line)].join('\n');
  return caption === null ? [written] : [...blocksIn(caption), written];
}

function rowsOf(parent: PageElement): PageElement[] {
  const rows: PageElement[] = [];
  for (const child of parent.childNodes) {
    if (!isElement(child)) continue;
    if (child.localName === 'tr') rows.push(child);
    else if (/^(?:thead|tbody|tfoot)$/.test(child.localName)) rows.push(...rowsOf(child));
  }
  return rows;
}

function cellsOf(row: PageElement): PageElement[] {
  const cells: PageElement[] = [];
  for (const child of row.childNodes) {
    if (isElement(child) && (child.localName === 'td' || child.localName === 'th')) cells.push(child);
  }
  return cells;
}

function cellText(cell: PageElement, blocksIn: (parent: PageNode) => string[]): string {
  const blocks = blocksIn(cell);
  const text = blocks.length <= 1 ? (blocks[0] ?? writeInline(cell.childNodes)) : blocks.join(' ');
  return text.replace(/\s*\n\s*/g, ' ').replaceAll('|', '\\|');
}
