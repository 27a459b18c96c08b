import { isBlock } from './page-blocks.ts';
import { isElement, isText, type PageElement, type PageNode } from './page-document.ts';
import { writeInline } from './write-inline.ts';

/** Markdown (CommonMark and GitHub's tables) of what stands in `root`; addresses are written as they stand. */
export function writeMarkdown(root: PageElement): string {
  return blocksIn(root).join('\n\n').trim();
}

/** One string a block, without empty lines around. */
function blocksIn(parent: PageNode): string[] {
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

/** Such as a link around a whole card: its text is blocks, and the link is lost. */
function hasBlock(element: PageElement): boolean {
  for (const child of element.childNodes) {
    if (isElement(child) && (isBlock(child.localName) || hasBlock(child))) return true;
  }
  return false;
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
      return writeTable(element, blocksIn);
    case 'dt': {
      const text = writeInline(element.childNodes);
      return text === '' ? [] : [`**${text.replace(/^\*\*(.*)\*\*$/s, '$1')}**`];
    }
    default:
      return blocksIn(element);
  }
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
    if (!isElement(item)) continue;
    // A list that stands in a list, without an item around it, belongs to the item before.
    const nested = item.localName !== 'li' && lines.length > 0;
    const blocks = item.localName === 'li' ? blocksIn(item) : blockOf(item);
    if (blocks.length === 0) continue;
    const marker = list.localName === 'ol' ? `${number}. ` : '- ';
    const indent = ' '.repeat(marker.length);
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
  const text = (pre.textContent ?? '').replace(/\r\n?/g, '\n').replace(/^\n+|\s+$/g, '');
  if (text === '') return [];
  const fences = text.match(/^`{3,}/gm) ?? [];
  const fence = '`'.repeat(Math.max(3, ...fences.map((one) => one.length + 1)));
  return [`${fence}${languageOf(pre)}\n${text}\n${fence}`];
}

function languageOf(pre: PageElement): string {
  const code = pre.querySelector('code');
  const said =
    code?.getAttribute('data-lang') ??
    pre.getAttribute('data-lang') ??
    pre.getAttribute('lang') ??
    /(?:language|lang|highlight-source)-([\w+#.-]{1,30})/.exec(
      `${code?.getAttribute('class') ?? ''} ${pre.getAttribute('class') ?? ''}`,
    )?.[1];
  return said !== undefined && /^[\w+#.-]{1,30}$/.test(said) ? said : '';
}

const columnsMax = 100;

/** GitHub's table; tables that hold others, or one column, are layout: their cells are blocks like any other. */
function writeTable(table: PageElement, blocksIn: (parent: PageNode) => string[]): string[] {
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
