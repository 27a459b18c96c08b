import type { PageElement } from './page-document.ts';
import type { TextBlock } from './text-blocks.ts';

/** Takes these blocks out of `root`, and the elements that are empty without them. */
export function removeBlocks(root: PageElement, blocks: readonly TextBlock[]): void {
  for (const { element, nodes } of blocks) {
    for (const node of nodes) element.removeChild(node);
    for (let at = element; at !== root && isEmpty(at); ) {
      const parent = at.parentNode as PageElement;
      parent.removeChild(at);
      at = parent;
    }
  }
}

function isEmpty(element: PageElement): boolean {
  return (element.textContent ?? '').trim() === '' && element.querySelector('img, video, audio, input, hr') === null;
}
