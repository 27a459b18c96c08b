import { isElement, type PageElement } from './page-document.ts';

/** TeX of a formula in MathML, by its structure; symbols stay the characters that they are. */
export function texOfMathml(element: PageElement): string {
  const parts = [...element.childNodes].filter(isElement);
  const part = (at: number) => (parts[at] === undefined ? '' : texOfMathml(parts[at]));
  const all = () => parts.map(texOfMathml).join(' ').trim();
  switch (element.localName) {
    case 'mi':
    case 'mn':
    case 'mo':
      return leaf(element);
    case 'mtext':
    case 'ms':
      return `\\text{${(element.textContent ?? '').trim()}}`;
    case 'mfrac':
      return `\\frac{${part(0)}}{${part(1)}}`;
    case 'msqrt':
      return `\\sqrt{${all()}}`;
    case 'mroot':
      return `\\sqrt[${part(1)}]{${part(0)}}`;
    case 'msup':
    case 'mover':
      return accented(element.localName, part(0), parts[1]) ?? `${grouped(part(0))}^{${part(1)}}`;
    case 'msub':
    case 'munder':
      return `${grouped(part(0))}_{${part(1)}}`;
    case 'msubsup':
    case 'munderover':
      return `${grouped(part(0))}_{${part(1)}}^{${part(2)}}`;
    case 'mfenced':
      return `${element.getAttribute('open') ?? '('}${parts.map(texOfMathml).join(', ')}${element.getAttribute('close') ?? ')'}`;
    case 'mtable':
      return `\\begin{matrix}${parts.map(texOfMathml).join(' \\\\ ')}\\end{matrix}`;
    case 'mtr':
      return parts.map(texOfMathml).join(' & ');
    case 'annotation':
    case 'annotation-xml':
    case 'mspace':
    case 'mphantom':
      return '';
    default:
      return all();
  }
}

function grouped(tex: string): string {
  return tex.length > 1 && !/^\\[A-Za-z]+$/.test(tex) ? `{${tex}}` : tex;
}

/** By the characters that pandoc, KaTeX, LaTeXML and MathJax write. */
const accents: ReadonlyMap<string, string> = new Map([
  ['¯', 'bar'],
  ['‾', 'bar'],
  ['^', 'hat'],
  ['ˆ', 'hat'],
  ['→', 'vec'],
  ['\u20d7', 'vec'],
  ['~', 'tilde'],
  ['˜', 'tilde'],
  ['˙', 'dot'],
  ['¨', 'ddot'],
]);

function accented(name: string, base: string, mark: PageElement | undefined): string | null {
  const accent = name === 'mover' ? accents.get((mark?.textContent ?? '').trim()) : undefined;
  return accent === undefined ? null : `\\${accent}{${base}}`;
}

const names = /^(?:sin|cos|tan|cot|log|ln|exp|lim|max|min|sup|inf|det|gcd|sinh|cosh|tanh|arg|deg|dim|ker)$/;
const symbols: ReadonlyMap<string, string> = new Map([
  ['∑', '\\sum'],
  ['∏', '\\prod'],
  ['∫', '\\int'],
  ['∞', '\\infty'],
  ['≤', '\\le'],
  ['≥', '\\ge'],
  ['≠', '\\ne'],
  ['×', '\\times'],
  ['⋅', '\\cdot'],
  ['→', '\\to'],
  ['∈', '\\in'],
  ['∂', '\\partial'],
  ['{', '\\{'],
  ['}', '\\}'],
  ['%', '\\%'],
  ['−', '-'],
]);

function leaf(element: PageElement): string {
  const text = (element.textContent ?? '').trim();
  if (/^[\u2061-\u2064]$/.test(text)) return '';
  return names.test(text) ? `\\${text}` : (symbols.get(text) ?? text);
}
