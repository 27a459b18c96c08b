import { isElement, isText, type PageDocument, type PageElement, type PageNode } from './page-document.ts';
import { texOfMathml } from './tex-of-mathml.ts';
import { formulaMark } from './text-marks.ts';

/** A longer formula stays as it is. */
const texCharsMax = 5_000;
/** A text that is longer is not looked through for TeX. */
const writtenCharsMax = 50_000;

const containers =
  '.katex-display, .katex, mjx-container, .MathJax_Display, .MathJax, .MathJax_SVG, .MathJax_CHTML, .mwe-math-element';

/** Puts marks in the place of formulas: MathML, and what KaTeX, MathJax and MediaWiki make of TeX. */
export function holdFormulas(document: PageDocument, html: string): void {
  for (const script of [...document.querySelectorAll('script[type^="math/tex"]')]) {
    put(document, script, script.textContent ?? '', /mode=display/.test(script.getAttribute('type') ?? ''));
  }
  for (const math of [...document.querySelectorAll('math')]) {
    if (document.documentElement.contains(math)) putMath(document, math);
  }
  for (const image of [
    ...document.querySelectorAll('img.latex[alt], img.tex[alt], img[class*="math-fallback"][alt]'),
  ]) {
    put(document, image, image.getAttribute('alt') ?? '', /display/.test(image.getAttribute('class') ?? ''));
  }
  // Output of MathJax for scripts that are marks now.
  for (const drawn of [...document.querySelectorAll('.MathJax_Preview, .MathJax_Display, .MathJax, .MathJax_SVG')]) {
    drawn.remove();
  }
  if (/mathjax|katex/i.test(html)) holdWritten(document.body);
}

function putMath(document: PageDocument, math: PageElement): void {
  const container = outermost(math);
  const display =
    math.getAttribute('display') === 'block' ||
    container.getAttribute('display') === 'true' ||
    /katex-display|MathJax_Display/.test(container.getAttribute('class') ?? '') ||
    container.querySelector('[class*="fallback-image-display"]') !== null;
  const source = math.querySelector('annotation[encoding*="tex" i]')?.textContent ?? math.getAttribute('alttext');
  put(document, container, source ?? texOfMathml(math), display);
}

function outermost(math: PageElement): PageElement {
  let found = math;
  for (let at = math.closest(containers); at !== null; ) {
    found = at;
    at = (at.parentNode as PageElement | null)?.closest?.(containers) ?? null;
  }
  return found;
}

function put(document: PageDocument, element: PageElement, source: string, display: boolean): void {
  const tex = tidyTex(source);
  if (tex === '' || tex.length > texCharsMax) return;
  element.replaceWith(document.createTextNode(formulaMark(tex, display)));
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
