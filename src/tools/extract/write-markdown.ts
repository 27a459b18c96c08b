import { noteNumber } from './hold-notes.ts';
import { isBlock } from './page-blocks.ts';
import { isElement, isText, type PageElement, type PageNode } from './page-document.ts';
import { textOfMarks } from './text-marks.ts';
import { linkOf, writeInline } from './write-inline.ts';

/** Markdown (CommonMark and GitHub's tables) of `root`; addresses are written unchanged. */
export function writeMarkdown(root: PageElement): string {
  return blocksIn(root).join('\n\n').trim();
}

/** One string a block, without empty lines around. */
function blocksIn(parent: Pick<PageNode, 'childNodes'>): string[] {
  const blocks: string[] = [];
  let run: PageNode[] = [];
  const flush = () => {
    const text = writeInline(run);
    if (text !== '') blocks.push(text);
    run = [];
  };
  for (const child of parent.childNodes) {
    if (isText(child)) run.push(child);
    else if (isElement(child)) {
      if (!isBlock(child.localName) && !hasBlock(child)) run.push(child);
      else {
        flush();
        blocks.push(...blockOf(child));
      }
    }
  }
  flush();
  return blocks;
}

/** Such as a link around a whole card: its text is blocks. */
function hasBlock(element: PageElement): boolean {
  return [...element.childNodes].some((child) => isElement(child) && (isBlock(child.localName) || hasBlock(child)));
}

function blockOf(element: PageElement): string[] {
  const name = element.localName;
  switch (name) {
    case 'h1':
    case 'h2':
    case 'h3':
    case 'h4':
    case 'h5':
    case 'h6': {
      const text = writeInline(element.childNodes).replace(/\s*\n\s*/g, ' ');
      return text === '' ? [] : [`${'#'.repeat(Number(name[1]))} ${text}`];
    }
    case 'ul':
    case 'ol':
    case 'menu':
    case 'dir':
      return listOf(element);
    case 'blockquote':
      return quoteOf(blocksIn(element));
    case 'pre':
      return codeOf(element);
    case 'hr':
      return ['---'];
    case 'table':
      return [...blocksIn({ childNodes: looseIn(element) }), ...writeTable(element)];
    case 'a':
      return cardOf(element);
    case 'dt': {
      const text = writeInline(element.childNodes);
      return text === '' ? [] : [`**${text.replace(/^\*\*(.*)\*\*$/s, '$1')}**`];
    }
    default:
      return blocksIn(element);
  }
}

/** A link around blocks: its heading, or else its first words or picture, leads where all of it does. */
function cardOf(card: PageElement): string[] {
  const blocks = blocksIn(card);
  // A link in a link would be none.
  if (card.querySelector('a') !== null) return blocks;
  const firsts = [/^#{1,6} /, /^(?![-|>`!]|\d+\. )/, /^!\[/].map((first) => blocks.findIndex((one) => first.test(one)));
  const at = firsts.find((found) => found >= 0);
  return blocks.map((block, i) => {
    if (i !== at) return block;
    const words = block.replace(/^#{1,6} /, '');
    const marks = block.slice(0, block.length - words.length);
    return marks + linkOf(words, card.getAttribute('href'), card.getAttribute('title'));
  });
}

function quoteOf(blocks: readonly string[]): string[] {
  if (blocks.length === 0) return [];
  const lines = blocks.join('\n\n').split('\n');
  return [lines.map((line) => (line === '' ? '>' : `> ${line}`)).join('\n')];
}

/** Items close together, their further blocks and lists within indented below. */
function listOf(list: PageElement): string[] {
  const lines: string[] = [];
  const first = Number(list.getAttribute('start') ?? 1);
  let number = Number.isInteger(first) && first >= 0 ? first : 1;
  for (const item of list.childNodes) {
    if (!isElement(item)) {
      // Not in an item, such as all of a list that is there to indent.
      const loose = writeInline([item]);
      if (loose !== '') lines.push(lines.length === 0 ? loose : `  ${loose}`);
      continue;
    }
    // A list directly in a list, without an item around it, belongs to the item before.
    const nested = item.localName !== 'li' && lines.length > 0;
    const blocks = item.localName === 'li' ? blocksIn(item) : blockOf(item);
    if (blocks.length === 0) continue;
    const note = noteNumber(item);
    const marker = note !== null ? `[^${note}]: ` : list.localName === 'ol' ? `${number}. ` : '- ';
    // Further lines of a note are indented by four.
    const indent = ' '.repeat(note === null ? marker.length : 4);
    const text = blocks.reduce((all, block) => all + (startsList(block) ? '\n' : '\n\n') + block);
    const indented = text.replace(/\n(?!\n)/g, `\n${indent}`).replace(/^ +$/gm, '');
    if (nested) lines.push(indent + indented);
    else {
      lines.push(marker + indented);
      number += 1;
    }
  }
  return lines.length === 0 ? [] : [lines.join('\n')];
}

function startsList(block: string): boolean {
  return /^(?:- |\d+\. )/.test(block);
}

function codeOf(pre: PageElement): string[] {
  const text = textOfMarks(pre.textContent ?? '')
    .replace(/\r\n?/g, '\n')
    .replace(/^\n+/, '')
    .trimEnd();
  if (text === '') return [];
  const fences = text.match(/^`{3,}/gm) ?? [];
  const fence = '`'.repeat(Math.max(3, ...fences.map((one) => one.length + 1)));
  return [`${fence}${pre.getAttribute('data-lang') ?? ''}\n${text}\n${fence}`];
}

const columnsMax = 100;
const rowspanMax = 100;

/** Nodes of a table that are in no row: browsers show them above it. */
function looseIn(table: PageElement): PageNode[] {
  return [...table.childNodes].filter((node) => {
    if (!isElement(node)) return isText(node);
    return !/^(?:caption|colgroup|tr)$/.test(node.localName) && node.querySelector('tr') === null;
  });
}

/** GitHub's table; tables that hold others, or one column, are layout: their cells are blocks like any other. */
function writeTable(table: PageElement): string[] {
  const rows = rowsOf(table).map(cellsOf);
  const grid = gridOf(rows);
  const columns = Math.max(0, ...grid.map((cells) => cells.length));
  if (columns < 2 || table.querySelector('table') !== null) return rows.flat().flatMap((cell) => blocksIn(cell));
  const caption = table.querySelector('caption');
  const line = (cells: readonly string[]) =>
    `| ${Array.from({ length: columns }, (_, at) => cells[at] ?? '').join(' | ')} |`;
  const [head, ...body] = grid.map((cells) => line(cells.map((cell) => (cell === null ? '' : cellText(cell)))));
  const rule = Array.from({ length: columns }, (_, at) => ` ${ruleOf(grid[0]?.[at])} |`).join('');
  const written = [head, `|${rule}`, ...body].join('\n');
  return caption === null ? [written] : [...blocksIn(caption), written];
}

/** Cells at their places; null where another one reaches over. */
function gridOf(rows: readonly PageElement[][]): (PageElement | null)[][] {
  const grid: (PageElement | null)[][] = rows.map(() => []);
  for (const [at, row] of grid.entries()) {
    let column = 0;
    for (const cell of rows[at] ?? []) {
      while (row[column] !== undefined) column += 1;
      const width = spanOf(cell, 'colspan', columnsMax - column);
      const height = spanOf(cell, 'rowspan', Math.min(rowspanMax, rows.length - at));
      for (const [down, below] of grid.slice(at, at + height).entries()) {
        for (let right = 0; right < width; right++) below[column + right] = down + right === 0 ? cell : null;
      }
      column += width;
      if (column >= columnsMax) break;
    }
  }
  return grid;
}

function spanOf(cell: PageElement, name: 'colspan' | 'rowspan', most: number): number {
  const span = Number(cell.getAttribute(name) ?? 1);
  return Number.isInteger(span) && span >= 1 ? Math.min(span, most) : 1;
}

function ruleOf(cell: PageElement | null | undefined): string {
  const align = cell?.getAttribute('data-align');
  return align === 'right' ? '---:' : align === 'center' ? ':---:' : align === 'left' ? ':---' : '---';
}

function rowsOf(parent: PageElement): PageElement[] {
  const rows: PageElement[] = [];
  for (const child of [...parent.childNodes].filter(isElement)) {
    if (child.localName === 'tr') rows.push(child);
    // Old pages have a form around rows.
    else if (child.localName !== 'caption' && child.localName !== 'table') rows.push(...rowsOf(child));
  }
  return rows;
}

function cellsOf(row: PageElement): PageElement[] {
  return [...row.childNodes].filter(isElement).filter(({ localName }) => localName === 'td' || localName === 'th');
}

function cellText(cell: PageElement): string {
  const blocks = blocksIn(cell).map(withoutFence);
  const text = blocks.length <= 1 ? (blocks[0] ?? writeInline(cell.childNodes)) : blocks.join(' ');
  return text.replace(/\s*\n\s*/g, ' ').replaceAll('|', '\\|');
}

/** A row is one line: code in it is among the words. */
function withoutFence(block: string): string {
  const code = /^`{3,}[^\n]*\n([\s\S]*)\n`{3,}$/.exec(block)?.[1];
  return code === undefined ? block : code.includes('`') ? `\`\` ${code} \`\`` : `\`${code}\``;
}
