import { readFileSync } from 'node:fs';
import { parseSync } from 'rolldown/utils';
import { root } from './snippets.ts';

export interface Comment {
  /** From 1, of its first line. */
  line: number;
  /** Without the marks of comments; neighbouring `//` lines are one text. */
  text: string;
  kind: 'docstring' | 'remark';
}

/** The comments of a source file, without what code and `code` in them says. */
export function commentsOf(file: string): Comment[] {
  const source = readFileSync(`${root}/${file}`, 'utf8');
  const found: Comment[] = [];
  let endOfLast = -1;
  for (const { type, value, start, end } of parseSync(file, source).comments) {
    const text = value
      .replace(/^\*?/, '')
      .replace(/^ *\* ?/gm, '')
      .replace(/`[^`]*`/g, 'Code')
      .replace(/\s+/g, ' ')
      .trim();
    const goesOn = type === 'Line' && endOfLast !== -1 && /^\n *$/.test(source.slice(endOfLast, start));
    if (goesOn) found.at(-1)!.text += ` ${text}`;
    else {
      const kind = value.startsWith('*') ? 'docstring' : 'remark';
      found.push({ line: source.slice(0, start).split('\n').length, text, kind });
    }
    endOfLast = type === 'Line' ? end : -1;
  }
  return found;
}
