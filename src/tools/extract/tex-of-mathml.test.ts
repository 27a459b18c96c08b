import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseHTML } from 'linkedom';
import type { PageDocument } from './page-document.ts';
import { texOfMathml } from './tex-of-mathml.ts';

const x = '<mi>x</mi>';
const n = '<mn>2</mn>';
const ab = '<mrow><mi>a</mi><mi>b</mi></mrow>';

for (const [mathml, tex] of [
  [`<msup>${x}${n}</msup>`, 'x^{2}'],
  [`<msup><mn>10</mn>${n}</msup>`, '{10}^{2}'],
  [`<msup>${ab}${n}</msup>`, '{a b}^{2}'],
  ['<msup><mi>sin</mi><mn>2</mn></msup>', '\\sin^{2}'],
  [`<msub>${x}${ab}</msub>`, 'x_{a b}'],
  [`<munder><mo>∑</mo>${x}</munder>`, '\\sum_{x}'],
  [`<msubsup>${x}<mi>i</mi>${n}</msubsup>`, 'x_{i}^{2}'],
  [`<munderover><mo>∫</mo><mn>0</mn><mi>∞</mi></munderover>`, '\\int_{0}^{\\infty}'],
  [`<mfrac>${x}${ab}</mfrac>`, '\\frac{x}{a b}'],
  [`<mfrac>${x}</mfrac>`, '\\frac{x}{}'],
  [`<mroot>${x}<mn>3</mn></mroot>`, '\\sqrt[3]{x}'],
  [`<msqrt>${x}<mo>−</mo>${n}</msqrt>`, '\\sqrt{x - 2}'],
  [`<mfenced>${x}${n}</mfenced>`, '(x, 2)'],
  [`<mfenced open="[" close="">${x}</mfenced>`, '[x'],
  [
    `<mtable><mtr><mtd>${x}</mtd><mtd>${n}</mtd></mtr><mtr><mtd>${ab}</mtd></mtr></mtable>`,
    '\\begin{matrix}x & 2 \\\\ a b\\end{matrix}',
  ],
  ['<mtext> if </mtext>', '\\text{if}'],
  ['<ms>s</ms>', '\\text{s}'],
  [`${x}<mspace/><mphantom>${n}</mphantom><annotation>no</annotation>`, 'x'],
  ['<mi>f</mi><mo>\u2061</mo><mo>{</mo>', 'f  \\{'],
  [`<mover>${x}<mo>→</mo></mover>`, '\\vec{x}'],
  [`<mover>${ab}<mo>˙</mo></mover>`, '\\dot{a b}'],
  [`<mover>${x}${n}</mover>`, 'x^{2}'],
  ['<msup><mi>x</mi><mo>→</mo></msup>', 'x^{\\to}'],
] as const) {
  test(`MathML ${mathml} is ${tex}`, () => {
    const { document } = parseHTML(`<html><body><math>${mathml}</math></body></html>`) as { document: PageDocument };
    assert.equal(texOfMathml(document.body.querySelector('math')!), tex);
  });
}
