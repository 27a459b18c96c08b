import assert from 'node:assert/strict';
import test from 'node:test';
import type { Extracted } from './extract-order.ts';
import { extractPage } from './extract-page.ts';

const paragraph = (at: number) =>
  `<p>Paragraph ${at} tells of the river and its boats, which have carried goods since the fourteenth century, and of bridge ${at * 7}.</p>`;
const prose = [1, 2, 3, 4].map(paragraph).join('');

async function read(form: string, onlyMainContent: boolean): Promise<Extracted> {
  const page = `<!doctype html><html><head><title>T</title><script src="/mathjax.js"></script></head><body>
    <main><article><h1>T</h1>${prose}${form}${prose}</article></main></body></html>`;
  const reply = await extractPage({
    id: 1,
    kind: 'html',
    body: new Uint8Array(Buffer.from(page)),
    url: 'https://example.org/a',
    contentType: 'text/html',
    way: 'document',
    options: { onlyMainContent, includeTags: null, excludeTags: null, rawHtml: false },
  });
  assert.ok('extracted' in reply, JSON.stringify(reply).slice(0, 300));
  return reply.extracted;
}

/** The markdown without the text around the form. */
const ofForm = (markdown: string) =>
  markdown
    .replace(/^# T$|^Paragraph \d tells .*$/gm, '')
    .replace(/\n{3,}/g, '\n\n')
    .trim();

/** The body of an article, and its markdown. */
const forms: readonly [string, string, string][] = [
  [
    'a table with a caption, a header and columns that are set right and in the middle',
    `<table><caption>Sizes</caption><thead><tr><th>Name</th><th style="text-align: right">Size</th><th align="center">x</th></tr></thead>
     <tbody><tr><td><p>a <b>b</b></p></td><td>1</td><td>y</td></tr></tbody></table>`,
    'Sizes\n\n| Name | Size | x |\n| --- | ---: | :---: |\n| a **b** | 1 | y |',
  ],
  [
    'cells that reach over others, and hold a list or code',
    `<table><tr><th>a<th>b<th>c<tr><td rowspan=2>r<td colspan=2>wide<tr><td>2<td><pre><code>x|y\nz</code></pre>
     <tr><td><ul><li>i<li>j</ul><td>3<td>4</table>`,
    '| a | b | c |\n| --- | --- | --- |\n| r | wide |  |\n|  | 2 | `x\\|y z` |\n| - i - j | 3 | 4 |',
  ],
  [
    'code whose language the block, the code or what stands around it names',
    `<pre><code class="language-ts">a();\n\n  b();</code></pre><div class="highlight highlight-source-python"><pre>def <span>f</span>()</pre></div>
     <pre class="brush: sql">select 1</pre><pre><code class="hljs rust">fn main() {}</code></pre><div class="language-ruby highlighter-rouge"><div class="highlight"><pre class="highlight"><code>puts 1</code></pre></div></div>`,
    '```ts\na();\n\n  b();\n```\n\n```python\ndef f()\n```\n\n```sql\nselect 1\n```\n\n```rust\nfn main() {}\n```\n\n```ruby\nputs 1\n```',
  ],
  [
    'code with its line numbers in a table, and code whose lines are elements',
    `<table class="highlighttable"><tr><td class="linenos"><pre>1\n2</pre></td><td><pre><code class="language-js">a();\nb();</code></pre></td></tr></table>
     <pre><code><div>x</div><div>y</div></code></pre><pre>p<br>q</pre>`,
    '```js\na();\nb();\n```\n\n```\nx\ny\n```\n\n```\np\nq\n```',
  ],
  [
    'lists in lists, with code in an item',
    '<ol><li>One<ul><li>a<ol><li>deep</li></ol></li></ul></li><li>Two<pre><code class="language-sh">ls</code></pre>after</li></ol>',
    '1. One\n   - a\n     1. deep\n2. Two\n\n   ```sh\n   ls\n   ```\n\n   after',
  ],
  [
    'footnotes with their way back',
    `<p>A note<sup id="fnref:1"><a href="#fn:1" class="footnote-ref">1</a></sup> here, another<sup><a href="#n2" id="r2">[b]</a></sup>, and the first again<sup><a href="#fn:1">1</a></sup>.</p>
     <section class="footnotes"><hr><ol><li id="fn:1"><p>The first. <a href="#fnref:1" class="footnote-backref">↩</a></p><p>More of it.</p></li>
     <li id="n2">The <em>second</em>.<a href="#r2">^</a></li></ol></section>`,
    'A note[^1] here, another[^2], and the first again[^1].\n\n[^1]: The first.\n\n    More of it.\n[^2]: The *second*.',
  ],
  [
    'references of an encyclopedia',
    `<p>It is long.<sup class="reference" id="cite_ref-1"><a href="#cite_note-1">[1]</a></sup></p><h2>References</h2>
     <ol class="references"><li id="cite_note-1"><span class="mw-cite-backlink"><b><a href="#cite_ref-1">^</a></b></span> A. Author, <i>Rivers</i>.</li></ol>`,
    'It is long.[^1]\n\n## References\n\n[^1]: A. Author, *Rivers*.',
  ],
  [
    'a raised link to a part of the page, which is no note',
    `<p>See<sup><a href="#part">2</a></sup>.</p><div id="part"><h2>Part</h2><p>Of the page, with a number of words in it.</p></div>`,
    'See[2](https://example.org/a#part).\n\n## Part\n\nOf the page, with a number of words in it.',
  ],
  [
    'MathML with its TeX, and without',
    `<p>It is <math alttext="E=mc^2"><mi>E</mi></math>, or <math><mfrac><mrow><mi>a</mi><mo>+</mo><mn>1</mn></mrow><msqrt><mi>b</mi></msqrt></mfrac><msubsup><mi>x</mi><mi>i</mi><mn>2</mn></msubsup><mo>≤</mo><munder><mi>lim</mi><mi>n</mi></munder></math>.</p>
     <math display="block"><semantics><mi>x</mi><annotation encoding="application/x-tex">\\sum_{i=1}^n x_i*y</annotation></semantics></math>`,
    'It is $E=mc^2$, or $\\frac{a + 1}{\\sqrt{b}} x_{i}^{2} \\le \\lim_{n}$.\n\n$$\\sum_{i=1}^n x_i*y$$',
  ],
  [
    'formulas of KaTeX',
    `<p>Inline <span class="katex"><span class="katex-mathml"><math><semantics><mi>a</mi><annotation encoding="application/x-tex">a^2 < b_1</annotation></semantics></math></span><span class="katex-html" aria-hidden="true">a2b</span></span> ok.</p>
     <p><span class="katex-display"><span class="katex"><span class="katex-mathml"><math display="block"><semantics><mi>y</mi><annotation encoding="application/x-tex">y = \\int f</annotation></semantics></math></span><span class="katex-html" aria-hidden="true">y</span></span></span></p>`,
    'Inline $a^2 < b_1$ ok.\n\n$$y = \\int f$$',
  ],
  [
    'formulas of MathJax, drawn, in scripts, and as they are written',
    `<p>Old <span class="MathJax_Preview">p</span><span class="MathJax">x2</span><script type="math/tex">x^2</script>, new <mjx-container class="MathJax"><mjx-math>z</mjx-math><mjx-assistive-mml><math><msqrt><mi>z</mi></msqrt></math></mjx-assistive-mml></mjx-container>.</p>
     <p>Written \\(a_b*c\\), for $5.</p><p>$$x_1 * y$$</p><pre>\\(code\\)</pre>`,
    'Old $x^2$, new $\\sqrt{z}$.\n\nWritten $a_b*c$, for $5.\n\n$$x_1 * y$$\n\n```\n\\(code\\)\n```',
  ],
  [
    'formulas of MediaWiki',
    `<p>W <span class="mwe-math-element"><span style="display: none"><math alttext="{\\displaystyle x_1}"><mi>x</mi></math></span><img src="/x.svg" class="mwe-math-fallback-image-inline" alt="{\\displaystyle x_1}"></span>.</p>`,
    'W $x_1$.',
  ],
  [
    'MathML with accents, which are no powers, and with a word that objects have',
    `<p>So <math><mover accent="true"><mi>v</mi><mo>→</mo></mover><mo>=</mo><mover><mrow><mi>x</mi><mi>y</mi></mrow><mo>¯</mo></mover><mo>+</mo><mover><mi>p</mi><mo>^</mo></mover><mo>+</mo><mover><mi>a</mi><mi>constructor</mi></mover></math>.</p>`,
    'So $\\vec{v} = \\bar{x y} + \\hat{p} + a^{constructor}$.',
  ],
  [
    'footnotes whose links are percent-encoded, and links that lead nowhere',
    `<p>A note<sup><a href="#fn%3A%C3%A4">1</a></sup> here, and nothing<sup><a href="#50%">2</a></sup>.</p>
     <ol><li id="fn:ä">The first.</li></ol>`,
    'A note[^1] here, and nothing[2](https://example.org/a#50%).\n\n[^1]: The first.',
  ],
  [
    'code of Hexo, Forem and MediaWiki, with numbers and buttons among its lines',
    `<figure class="highlight js"><table><tr><td class="gutter"><pre><span class="line">1</span><br><span class="line">2</span></pre></td><td class="code"><pre><span class="line">a();</span><br><span class="line">b();</span></pre></td></tr></table></figure>
     <div class="highlight js-code-highlight"><pre class="highlight python"><code>x = 1</code></pre></div><div class="highlight js-code-highlight"><pre class="highlight plaintext"><code>none</code></pre></div>
     <div class="mw-highlight mw-highlight-lang-rust mw-content-ltr"><pre><button>Copy</button><span class="linenos"> 1</span>let x;\n<span class="ln">2</span><span class="ln">of_it</span></pre></div>`,
    '```js\na();\nb();\n```\n\n```python\nx = 1\n```\n\n```\nnone\n```\n\n```rust\nlet x;\nof_it\n```',
  ],
];

for (const [name, html, markdown] of forms) {
  test(`markdown of ${name}, as main content`, async () => {
    assert.equal(ofForm((await read(html, true)).markdown), markdown);
  });
}

test('forms are the same where the whole page is asked for', async () => {
  for (const [name, html, markdown] of forms) assert.equal(ofForm((await read(html, false)).markdown), markdown, name);
});

test('text has notes by number, HTML has them as links, and TeX stands in both', async () => {
  const { text, html } = await read(forms[5]![1] + forms[9]![1], true);
  assert.match(text, /A note\[1\] here, another\[2\]/);
  assert.match(text, /^\[1\] The first\.$/m);
  assert.match(text, /Inline \$a\^2 < b_1\$ ok\./);
  assert.match(html, /A note<sup><a href="#fn-1">1<\/a><\/sup> here/);
  assert.match(html, /<li [^>]*id="fn-1"/);
  assert.match(html, /<span class="math inline">\\\(a\^2 &lt; b_1\\\)<\/span>/);
});

test('no page writes a mark of ours itself', async () => {
  const { markdown } = await read('<p>A &#xe001;*b* <i>c&#57347;</i> \ue004 9\ue005 d.</p>', true);
  assert.match(markdown, /A \\\*b\\\* \*c\* 9 d\./);
});
