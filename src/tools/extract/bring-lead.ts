import { isElement, type PageElement } from './page-document.ts';
import { proseSize, type Weights } from './weigh-elements.ts';

const leadSizeMax = 1_500;
const leadsMax = 3;
/** The rest may be a link, or a name. */
const proseShareMin = 0.7;
const leads = new Set('p h2 h3 h4 div section strong blockquote'.split(' '));

/** Puts the first paragraph into `root` where a page has it above its text, below the heading. */
export function bringLead(page: PageElement, root: PageElement, heading: PageElement, weights: Weights): void {
  if (root.contains(heading) || heading.contains(root)) return;
  let at: 'above' | 'between' | 'below' = 'above';
  const found: PageElement[] = [];
  const look = (parent: PageElement) => {
    for (const child of parent.childNodes) {
      if (at === 'below') return;
      if (!isElement(child)) continue;
      if (child === heading) at = 'between';
      else if (child === root) at = 'below';
      else if (at === 'between' && isLead(child, weights) && !child.contains(root)) found.push(child);
      else look(child);
    }
  };
  look(page);
  for (const lead of found.slice(0, leadsMax).toReversed()) root.prepend(lead);
}

/** One run of text, mostly prose. */
function isLead(element: PageElement, weights: Weights): boolean {
  const weight = weights.get(element);
  if (weight === undefined || !leads.has(element.localName)) return false;
  if (weight.prose < Math.max(proseSize, proseShareMin * weight.size) || weight.size > leadSizeMax) return false;
  return ![...element.childNodes].some((node) => isElement(node) && (weights.get(node)?.prose ?? 0) > 0);
}
