import { isElement, isText, type PageDocument, type PageElement, type PageNode } from './page-document.ts';
import { texOfMathml } from './tex-of-mathml.ts';
import { formulaMark } from './text-marks.ts';

/** A longer formula waits aside: its letters and commas would outweigh the text around it, which is the page's. */
const texCharsMax = 1_000;
/** A text that is longer is not looked through for TeX. */
const writtenCharsMax = 50_000;

const containers =
  '.katex-display, .katex, mjx-container, .MathJax_Display, .MathJax, .MathJax_SVG, .MathJax_CHTML, .mwe-math-element';

/** TeX of long formulas by the number that is in their mark. */
export type HeldFormulas = readonly string[];

/** Begins the number in a mark: no TeX has it (`tidyTex`). */
const aside = '\ue000';

/**
 * Puts marks in the place of formulas: MathML, and what KaTeX, MathJax and MediaWiki make of TeX. Those of long ones hold
 * a number, until `bringFormulas`.
 */
export function holdFormulas(document: PageDocument, html: string): HeldFormulas {
  const held: string[] = [];
  const put = (element: PageElement, source: string, display: boolean) => {
    const tex = tidyTex(source);
    if (tex === '') return;
    const shown = tex.length <= texCharsMax ? tex : `${aside}${held.push(tex) - 1}`;
    element.replaceWith(document.createTextNode(formulaMark(shown, display)));
  };
  for (const script of [...document.querySelectorAll('script[type^="math/tex"]')]) {
    put(script, script.textContent ?? '', /mode=display/.test(script.getAttribute('type') ?? ''));
  }
  for (const math of [...document.querySelectorAll('math')]) {
    if (document.documentElement.contains(math)) putMath(put, math);
  }
  for (const image of [
    ...document.querySelectorAll('img.latex[alt], img.tex[alt], img[class*="math-fallback"][alt]'),
  ]) {
    put(image, image.getAttribute('alt') ?? '', /display/.test(image.getAttribute('class') ?? ''));
  }
  // Output of MathJax for scripts that are marks now.
  for (const drawn of [...document.querySelectorAll('.MathJax_Preview, .MathJax_Display, .MathJax, .MathJax_SVG')]) {
    drawn.remove();
  }
  if (/mathjax|katex/i.test(html)) holdWritten(document.body);
  return held;
}

/** Writes the held formulas into their marks, as far as they are in `parent`. */
export function bringFormulas(parent: PageNode, held: HeldFormulas): void {
  if (held.length === 0) return;
  for (const child of parent.childNodes) {
    if (isElement(child)) bringFormulas(child, held);
    else if (isText(child) && child.textContent?.includes(aside)) {
      child.textContent = child.textContent.replace(
        /(?<=[\ue001\ue002])\ue000(\d+)(?=\ue003)/g,
        (_, number: string) => held[Number(number)] ?? '',
      );
    }
  }
}

type Put = (element: PageElement, source: string, display: boolean) => void;

function putMath(put: Put, math: PageElement): void {
  const container = outermost(math);
  const display =
    math.getAttribute('display') === 'block' ||
    container.getAttribute('display') === 'true' ||
    /katex-display|MathJax_Display/.test(container.getAttribute('class') ?? '') ||
    container.querySelector('[class*="fallback-image-display"]') !== null;
  const source = math.querySelector('annotation[encoding*="tex" i]')?.textContent ?? math.getAttribute('alttext');
  put(container, source ?? texOfMathml(math), display);
}

function outermost(math: PageElement): PageElement {
  let found = math;
  for (let at = math.closest(containers); at !== null; ) {
    found = at;
    at = (at.parentNode as PageElement | null)?.closest?.(containers) ?? null;
  }
  return found;
}

function tidyTex(source: string): string {
  const tex = source
    .replace(/[\ue000-\ue005]/g, '')
    .replace(/\s+/g, ' ')
    .trim();
  // MediaWiki's frame around each.
  return tex.startsWith('{\\displaystyle ') && tex.endsWith('}') ? tex.slice(15, -1).trim() : tex;
}

/** TeX that a script of the page would have set. */
function holdWritten(parent: PageNode): void {
  for (const child of parent.childNodes) {
    if (isText(child)) {
      const text = child.textContent ?? '';
      if (text.length <= writtenCharsMax && /\\\(|\\\[|\$\$/.test(text)) child.textContent = heldIn(text);
    } else if (isElement(child) && !/^(?:pre|code|script|style|textarea|samp|kbd)$/.test(child.localName)) {
      holdWritten(child);
    }
  }
}

function heldIn(text: string): string {
  return text
    .replace(/\\\(([^\ue001-\ue005]{1,400}?)\\\)/g, (_, tex: string) => formulaMark(tidyTex(tex), false))
    .replace(/\\\[([^\ue001-\ue005]{1,400}?)\\\]/g, (_, tex: string) => formulaMark(tidyTex(tex), true))
    .replace(/\$\$([^\ue001-\ue005]{1,400}?)\$\$/g, (_, tex: string) => formulaMark(tidyTex(tex), true));
}
