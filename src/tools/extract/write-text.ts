import { noteNumber } from './hold-notes.ts';
import { isBlock } from './page-blocks.ts';
import { isElement, isText, type PageElement, type PageNode } from './page-document.ts';
import { tidyText } from './plain-text.ts';
import { textOfMarks } from './text-marks.ts';

/** Text as people read it: a line for each block, without any other form. */
export function writeText(root: PageElement): string {
  const parts: string[] = [];
  collect(root, parts);
  return textOfMarks(tidyText(parts.join('')));
}

function collect(parent: PageNode, parts: string[]): void {
  for (const child of parent.childNodes) {
    if (isText(child)) parts.push((child.textContent ?? '').replace(/\s+/g, ' '));
    else if (isElement(child)) {
      if (child.localName === 'pre') parts.push('\n', child.textContent ?? '', '\n');
      else if (child.localName === 'br') parts.push('\n');
      else if (isBlock(child.localName)) {
        const note = noteNumber(child);
        parts.push(note === null ? '\n' : `\n[${note}] `);
        const from = parts.length;
        collect(child, parts);
        // The words of a note begin next to its number, though they are a separate paragraph.
        if (note !== null) parts.push(parts.splice(from).join('').trimStart());
        parts.push('\n');
      } else {
        // Cells of a row are next to each other.
        if (child.localName === 'td' || child.localName === 'th') parts.push(' ');
        collect(child, parts);
      }
    }
  }
}
