import type { PageElement } from './page-document.ts';
import type { TextBlock } from './text-blocks.ts';

/** Takes these blocks out of `root`, and the elements that are empty without them. */
export function removeBlocks(root: PageElement, blocks: readonly TextBlock[]): void {
  for (const { element, nodes } of blocks) for (const node of nodes) element.removeChild(node);
  // An element without its empty ones is as empty as before, so each is looked at once: thousands may share a parent.
  const filled = new Set<PageElement>([root]);
  for (const { element } of blocks) {
    for (let at = element; !filled.has(at); ) {
      if (!isEmpty(at)) {
        filled.add(at);
        break;
      }
      const parent = at.parentNode as PageElement | null;
      if (parent === null) break;
      parent.removeChild(at);
      at = parent;
    }
  }
}

function isEmpty(element: PageElement): boolean {
  return (element.textContent ?? '').trim() === '' && element.querySelector('img, video, audio, input, hr') === null;
}
