// Slow: `npm test` runs it, `npm run check` does not.
import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import type { Extracted, ExtractOptions, ExtractOrder, PageKind } from './extract-order.ts';
import { extractPage } from './extract-page.ts';
import { pageKindOf } from './page-kind.ts';
import { depthMax, nodesMax } from './scan-html.ts';

const all: ExtractOptions = { onlyMainContent: false, includeTags: null, excludeTags: null, rawHtml: false };

interface PageOptions {
  kind?: PageKind;
  contentType?: string;
  url?: string;
  wanted?: Partial<ExtractOptions>;
  way?: ExtractOrder['way'];
}

function order(page: string | Uint8Array, options: PageOptions): ExtractOrder {
  const {
    kind = 'html',
    contentType = 'text/html',
    url = 'https://example.org/a/b',
    wanted,
    way = 'document',
  } = options;
  const body = new Uint8Array(Buffer.from(page));
  return { id: 1, kind, contentType, url, way, body, options: { ...all, ...wanted } };
}

async function read(page: string | Uint8Array, options: PageOptions = {}): Promise<Extracted> {
  const reply = await extractPage(order(page, options));
  assert.ok('extracted' in reply, JSON.stringify(reply).slice(0, 300));
  return reply.extracted;
}

const markdownOf = async (page: string, options?: PageOptions) => (await read(page, options)).markdown;

/** A page, and its expected markdown. */
const written: readonly [string, string, string][] = [
  [
    'a body with words before and behind it',
    '<html><head><title>no</title></head>one<p>two</p><body><p>three</p></body><p>four</p>five</html>',
    'one\n\ntwo\n\nthree\n\nfour\n\nfive',
  ],
  [
    'words behind the body alone',
    '<html><head><title>no</title></head><body><p>one</p></body>two</html>',
    'one\n\ntwo',
  ],
  [
    'a body without a head',
    '<!doctype html><html lang=de><meta charset=utf-8><title>T</title><body id=a><p>b</p>c',
    'b\n\nc',
  ],
  [
    'a body that is written in a script and a comment, and words behind the end',
    '<html><head><script>w("<body>")</script><!-- <head> <body> --></head><p>a</p></html><p>b',
    'a\n\nb',
  ],
  ['words behind a page', '<html><head></head><body><p>a</p></body></html><p>b</p><html><body><p>c', 'a\n\nb\n\nc'],
  ['a body alone', '<body><p>a</p></body>', 'a'],
  ['headings and paragraphs', '<h1>One</h1><p>Two\n  three</p><h3>Four</h3>', '# One\n\nTwo three\n\n### Four'],
  ['emphasis, also badly placed', '<p>a<b> bold </b>and <i>so</i><em></em></p>', 'a **bold** and *so*'],
  ['a relative link', '<p><a href="../c?d=1#e">here</a></p>', '[here](https://example.org/c?d=1#e)'],
  ['a link of a script', '<p><a href="javascript:alert(1)">run</a></p>', 'run'],
  ['a link with brackets', '<a href="/x_(y)">z</a>', '[z](https://example.org/x_%28y%29)'],
  [
    'a picture, and one inlined',
    '<img src="p.png" alt="A b"><img src="data:image/png;base64,AAAA">',
    '![A b](https://example.org/a/p.png)',
  ],
  ['line breaks', '<p>a<br>b<br/> c</p>', 'a  \nb  \nc'],
  ['nested lists', '<ul><li>a<ul><li>b<li>c</ul><li>d</ul>', '- a\n  - b\n  - c\n- d'],
  ['a numbered list from zero', '<ol start=0><li>a<li>b</ol>', '0. a\n1. b'],
  ['a numbered list from three', '<ol start=3><li>a<li><p>b</p><p>c</p></ol>', '3. a\n4. b\n\n   c'],
  ['text of a list that is in no item', '<ul>a<li>b</li> c<li>d</ul>', 'a\n- b\n  c\n- d'],
  ['breaks for paragraphs', '<p>a<br><br>b<br>c<br> <br><br>d</p>', 'a\n\nb  \nc\n\nd'],
  ['soft hyphens', '<p>su&shy;per&#173;cali&#xAD;fragi\u00adlistic</p>', 'supercalifragilistic'],
  [
    'headings with links to themselves',
    '<h2><a href="#a">#</a> A <a class="headerlink" href="/a/b#a" title="Permalink">¶</a></h2><h3><a href="/b">B</a></h3>',
    '## A\n\n### [B](https://example.org/b)',
  ],
  ['tasks', '<ul><li><input type=checkbox checked> a<li><input type=checkbox> b</ul>', '- [x] a\n- [ ] b'],
  ['a quotation', '<blockquote><p>a</p><p>b</p></blockquote>', '> a\n>\n> b'],
  ['code', '<pre><code class="language-js">a = `b`;\n\n  c()</code></pre>', '```js\na = `b`;\n\n  c()\n```'],
  ['code with fences in it', '<pre>```\nx\n```</pre>', '````\n```\nx\n```\n````'],
  ['code among words', '<p>the <code>a`b</code> word</p>', 'the ``a`b`` word'],
  ['a table', '<table><tr><th>a<th>b|c<tr><td>1<td>2<br>3</table>', '| a | b\\|c |\n| --- | --- |\n| 1 | 2 3 |'],
  [
    'a table with a form around its rows, and words in no row',
    '<table>a<form><tr><td>b<td>c</tr></form><tr><td>d<td>e</tr></table><table><div>f</div><p>g</table>',
    'a\n\n| b | c |\n| --- | --- |\n| d | e |\n\nf\n\ng',
  ],
  ['a table that is layout', '<table><tr><td><p>a</p><p>b</p></table>', 'a\n\nb'],
  [
    'what looks like form',
    '<p>1. a *b* [c] &lt;d&gt; # e</p><p># f</p><p>snake_case _g_</p>',
    '1\\. a \\*b\\* \\[c\\] \\<d> # e\n\n\\# f\n\nsnake_case \\_g\\_',
  ],
  [
    'shadow trees that the page writes itself, and a template',
    '<x-a><template shadowrootmode="open"><p>a</p><x-b><template shadowrootmode=closed>b</template></x-b></template>c</x-a><template>d</template>',
    'a\n\nb\n\nc',
  ],
  ['scripts and styles', '<script>a()</script><style>b{}</style><p>c</p><noscript>d</noscript>', 'c'],
  ['unclosed elements', '<p>a<p>b<div>c<span>d', 'a\n\nb\n\ncd'],
  ['text without any element', 'just text &amp; more', 'just text & more'],
  [
    'what looks like form, further on',
    '<p>1) a &amp;amp; &amp;#60; R&amp;D</p><p>b<br>---<br>c<br>===</p>',
    '1\\) a \\&amp; \\&#60; R&D\n\nb  \n\\---  \nc  \n\\===',
  ],
  [
    'links around blocks',
    '<a href="/a"><img src="p.png" alt="p"><h3>Head</h3><p>Words</p></a><a href="/b"><div>5. of it</div><div>all</div></a><a href="/c"><div><img src="q.png"></div></a><ul><li><a href="/d"><div>item</div></a></ul>',
    '![p](https://example.org/a/p.png)\n\n### [Head](https://example.org/a)\n\nWords\n\n[5\\. of it](https://example.org/b)\n\nall\n\n[![](https://example.org/a/q.png)](https://example.org/c)\n\n- [item](https://example.org/d)',
  ],
  [
    'a link around blocks that has a link, or leads nowhere',
    '<a href="/a"><div>a <a href="/b">b</a></div></a><a><p>c</p></a><a href="/d"><ul><li>e</ul></a>',
    'a [b](https://example.org/b)\n\nc\n\n- e',
  ],
  [
    'exponents',
    '<p>10<sup>6</sup> and 2<sup>−10</sup>, not 1<sup>st</sup>, m<sup>2</sup>, nor 5<sup><a href="/n">1</a></sup></p>',
    '10⁶ and 2⁻¹⁰, not 1st, m2, nor 5[1](https://example.org/n)',
  ],
  ['words in a definition list', '<dl><dt>a<dd>b</dl>', '**a**\n\nb'],
];

for (const [name, html, markdown] of written) {
  test(`markdown of ${name}`, async () => assert.equal(await markdownOf(html), markdown));
}

test('no word of a page is lost, however its elements are opened and closed', async () => {
  const names =
    'p div ul li dl dt dd a b span h1 h3 blockquote pre code section main header figure summary form br hr sup ins';
  const tags = fc.constantFrom(...names.split(' '));
  const roots = ['', '<!doctype html>', '<html>', '<html><body>', '<body>', '<head><title>t</title></head>'];
  const soup = fc.array(
    fc.oneof(
      tags.map((tag) => `<${tag}>`),
      tags.map((tag) => `</${tag}>`),
      fc.constant('word'),
    ),
    {
      maxLength: 14,
    },
  );
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...roots), soup, async (root, pieces) => {
      const words = pieces.flatMap((piece, at) => (piece === 'word' ? [`w${at}`] : []));
      const html = root + pieces.map((piece, at) => (piece === 'word' ? ` w${at} ` : piece)).join('');
      const { markdown } = await read(html);
      for (const word of words) assert.match(markdown, new RegExp(`\\b${word}\\b`), html);
    }),
    { seed: 3, numRuns: 300 },
  );
});

test('a base element moves the links', async () => {
  const { markdown, links } = await read('<base href="https://other.example/x/"><a href="y">z</a><a href="#top">t</a>');
  assert.match(markdown, /\(https:\/\/other\.example\/x\/y\)/);
  assert.deepEqual(links, ['https://other.example/x/y', 'https://other.example/x/#top']);
});

test('ten thousand links are each given once, absolute, in their order', async () => {
  const anchors = Array.from({ length: 10_000 }, (_, at) => `<a href="/p${at % 5_000}">x</a>`);
  const { links } = await read(anchors.join(' '));
  assert.equal(links.length, 5_000);
  assert.equal(links[4_999], 'https://example.org/p4999');
});

test('the charset is taken from BOM, header, the page itself, and guessed for old pages', async () => {
  const utf16 = Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from('<p>ж</p>', 'utf16le')]);
  assert.equal((await read(utf16, { contentType: 'text/html; charset=iso-8859-1' })).text, 'ж');
  const cyrillic = Buffer.from([0x3c, 0x70, 0x3e, 0xe6]);
  assert.equal((await read(cyrillic, { contentType: 'text/html; charset="windows-1251"' })).text, 'ж');
  const declared = Buffer.concat([Buffer.from('<meta charset=windows-1251><p>'), Buffer.from([0xe6])]);
  assert.equal((await read(declared)).text, 'ж');
  assert.equal((await read(Buffer.from([0x3c, 0x70, 0x3e, 0xe9, 0x2e]))).text, 'é.');
  assert.equal((await read('<p>ж', { contentType: 'text/html; charset=nonsense-9' })).text, 'ж');
  const japanese = Buffer.concat([
    Buffer.from('<meta http-equiv="Content-Type" content="text/html; charset=Shift_JIS"><p>'),
    Buffer.from([0x93, 0xfa]),
  ]);
  assert.equal((await read(japanese)).text, '日');
  const late = `<script>${'x'.repeat(5_000)}</script><meta charset=windows-1251><p>`;
  assert.equal((await read(Buffer.concat([Buffer.from(late), Buffer.from([0xe6, 0x2e])]))).text, 'ж.');
  assert.equal((await read('<meta charset=unicode><p>ж')).text, 'ж');
});

test('metadata: title, description, language, canonical, date, OpenGraph', async () => {
  const { facts } = await read(`<html lang="de"><head><title> A
    title </title><meta name="description" content="What it is"><link rel="canonical" href="/canonical">
    <meta property="article:published_time" content="2026-01-02T03:04:05+01:00"><meta property="og:image" content="https://i.example/1.png">
    <meta property="og:title" content="Other"></head><body><svg><title>no</title></svg>x</body></html>`);
  assert.deepEqual(facts, {
    title: 'A title',
    description: 'What it is',
    language: 'de',
    canonical: 'https://example.org/canonical',
    published: '2026-01-02T02:04:05.000Z',
    og: {
      'og:image': 'https://i.example/1.png',
      'og:title': 'Other',
      'article:published_time': '2026-01-02T03:04:05+01:00',
    },
  });
});

test('includeTags gives these elements alone, excludeTags all but these', async () => {
  const html = '<h1>a</h1><div class="x"><p>b</p><p class="y">c</p></div><footer>d</footer><p id="z">e</p>';
  assert.equal(await markdownOf(html, { wanted: { includeTags: ['#z', '.x', '.y'] } }), 'b\n\nc\n\ne');
  assert.equal(await markdownOf(html, { wanted: { excludeTags: ['.y', 'footer', 'h1'] } }), 'b\n\ne');
  assert.equal(await markdownOf(html, { wanted: { includeTags: ['.x'], excludeTags: ['.y'] } }), 'b');
});

test('a selector that is none is said to be so', async () => {
  const reply = await extractPage(order('<p>a</p>', { wanted: { excludeTags: ['p >>> ['] } }));
  assert.ok('wrong' in reply);
  assert.equal(reply.wrong.field, 'excludeTags');
});

test('names of attributes are read in any case', async () => {
  const html = `<HTML LANG=de><BASE HREF="/x/"><META NAME="description" CONTENT="D"><BODY><P>a <A HREF="b">c</A><IMG SRC="d.png" ALT="e">
    <TABLE><TR><TH>f<TH ALIGN=RIGHT>g<TR><TD COLSPAN=2>h</TABLE><a hReF="javascript:i()" ONCLICK="j()">k</a></BODY></HTML>`;
  const old = await read(html);
  assert.match(old.markdown, /a \[c\]\(https:\/\/example.org\/x\/b\)!\[e\]\(https:\/\/example.org\/x\/d.png\)/);
  assert.match(old.markdown, /\| f \| g \|\n\| --- \| ---: \|\n\| h \| {2}\|/);
  assert.deepEqual([old.links, old.facts.description, old.facts.language], [['https://example.org/x/b'], 'D', 'de']);
  assert.doesNotMatch(old.html, /javascript|onclick|j\(\)/i);
});

test('html is given without scripts, handlers and inlined pictures', async () => {
  const { html } = await read(
    '<p onclick="x()" style="y">a<script>z</script><img src="data:,1"><a href="javascript:b">c</a></p>',
  );
  assert.equal(html, '<p>a<img><a>c</a></p>');
  const active = [
    '<p>b</p><![CDATA[ --><img src=x onerror=y()> ]]><!-- --!><img src=x onerror=y()>-->',
    '<noframes><p title="</noframes><img src=x onerror=y()>">c</p></noframes><base href="javascript:y()">',
    '<form action=" java\nscript:y()"><p background="vbscript:y()">d</p></form>',
  ];
  const cleaned = await read(active.join(''));
  assert.equal(cleaned.html, '<p>b</p><noframes><p>c</p></noframes><form><p>d</p></form>');
});

test('F59 what no library of documents survives is found before one is asked, and read as plain text', async () => {
  const deep = `${'<div>'.repeat(100_000)}deep text`;
  const many = '<i>x</i>'.repeat(nodesMax);
  for (const [html, why] of [
    [deep, new RegExp(`more than ${depthMax} deep`)],
    [many, new RegExp(`more than ${nodesMax} elements`)],
    [`<p>${'long '.repeat(400_000)}`, /characters/],
    // Tags only once others, or soft hyphens, are taken out of them.
    [`<html><head></head><body>${'<</body>div>'.repeat(50_000)}`, /more than 400 deep/],
    [`<html><head></head><body>${'<\u00addiv>'.repeat(50_000)}`, /more than 400 deep/],
  ] as const) {
    const reply = await extractPage(order(html, {}));
    assert.ok('unfit' in reply);
    assert.match(reply.unfit, why);
  }
  assert.equal((await read(deep, { way: 'plain' })).text, 'deep text');
});

test('what is looked for in every element is not looked for in all around it', async () => {
  const inside = '<h2><a href="#a" title="<">#</a></h2><i title="<">1<sup>2</sup></i>'.repeat(10_000);
  const page = (depth: number) => `${'<div>'.repeat(depth)}${inside}${'</div>'.repeat(depth)}`;
  const cpuMsOf = async (html: string) => {
    const before = process.cpuUsage();
    await read(html);
    return process.cpuUsage(before).user / 1_000;
  };
  const [flatMs, deepMs] = [await cpuMsOf(page(2)), await cpuMsOf(page(380))];
  assert.ok(deepMs < 3 * flatMs, `${deepMs} ms in 380 elements, ${flatMs} ms in 2`);
});

test('the plain way gives text, title and links without scripts', async () => {
  const html = '<title>T</title><script>no</script><p>a</p><p>b <a href="/c">d</a></p><table><tr><th>e<td>1</table>';
  const { text, links, facts } = await read(html, { way: 'plain' });
  assert.equal(text, 'a\n\nb d\n\ne 1');
  assert.deepEqual(links, ['https://example.org/c']);
  assert.equal(facts.title, 'T');
});

test('an empty element of a feed holds nothing of what follows it', async () => {
  const item = '<item><title/><link/><description/><guid>https://e.example/1</guid><pubDate>Monday</pubDate></item>';
  const entry = '<entry><title>Two</title><content src="/x" type="text/html"/><updated>Tuesday</updated></entry>';
  const feed = await read(`<rss><channel><title>F</title>${item}${entry}</channel></rss>`, { kind: 'xml' });
  assert.equal(feed.markdown, '# F\n\n- [Untitled](https://e.example/1) (Monday)\n- Two (Tuesday)');
});

test('links of a feed begin at its xml:base', async () => {
  const entries =
    '<entry><title>A</title><link href="a"/></entry><entry xml:base="sub/"><title>B</title><link href="b"/></entry>';
  const feed = await read(`<feed xml:base="https://e.example/blog/">${entries}</feed>`, { kind: 'xml' });
  assert.deepEqual(feed.links, ['https://e.example/blog/a', 'https://e.example/blog/sub/b']);
});

test('a feed is a list of its entries, text and JSON stay what they are', async () => {
  const rss = `<?xml version="1.0"?><rss><channel><title>Feed</title><item><title><![CDATA[A & <b>b</b>]]></title><link>https://e.example/1</link><description>&lt;p&gt;Words&lt;/p&gt;</description></item></channel></rss>`;
  const feed = await read(rss, { kind: 'xml', contentType: 'application/rss+xml' });
  assert.equal(feed.markdown, '# Feed\n\n- [A & <b>b</b>](https://e.example/1)\n  Words');
  assert.deepEqual(feed.links, ['https://e.example/1']);
  const entries = `<entry><title>A</title><link rel="replies" href="/c"/><link rel="alternate" href="/a"/><content type="xhtml"><div><p>One</p><p>two</p></div></content></entry>
    <item><title>B</title><guid isPermaLink="true">https://e.example/b</guid><content:encoded><![CDATA[<p>Three]]></content:encoded></item>
    <item><title>C</title><guid isPermaLink="false">c</guid></item>`;
  const atom = await read(`<feed><title>F</title>${entries}</feed>`, { kind: 'xml' });
  assert.equal(
    atom.markdown,
    '# F\n\n- [A](https://example.org/a)\n  One two\n- [B](https://e.example/b)\n  Three\n- C',
  );
  assert.equal((await read('a\r\nb <p>', { kind: 'text' })).text, 'a\nb <p>');
  assert.equal((await read(' {"a":1}\n', { kind: 'json' })).markdown, '```json\n{"a":1}\n```');
  const xml = await read('<?xml version="1.0"?><a><title/><b>c</b><b><![CDATA[d & e]]></b><head>f</head></a>', {
    kind: 'xml',
  });
  assert.equal(xml.text, 'c\n\nd & e\n\nf');
});

test('the text of a PDF is given', async () => {
  const content = 'BT /F1 24 Tf 72 700 Td (Hello from a PDF) Tj ET';
  const objects = [
    '<</Type/Catalog/Pages 2 0 R>>',
    '<</Type/Pages/Kids[3 0 R]/Count 1>>',
    '<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>',
    `<</Length ${content.length}>>stream\n${content}\nendstream`,
    '<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>',
  ].map((object, at) => `${at + 1} 0 obj${object}endobj\n`);
  const pdf = `%PDF-1.4\n${objects.join('')}trailer<</Root 1 0 R>>`;
  assert.equal(pageKindOf('application/octet-stream', Buffer.from(pdf)), 'pdf');
  assert.equal((await read(pdf, { kind: 'pdf' })).text, 'Hello from a PDF');
});

test('what a page is, is seen by its type and else by its bytes', () => {
  const kindOf = (type: string, body: string | Buffer) => pageKindOf(type, Buffer.from(body));
  assert.equal(kindOf('', ' <!DOCTYPE html>'), 'html');
  assert.equal(kindOf('application/atom+xml', ''), 'xml');
  assert.equal(kindOf('application/ld+json; charset=x', ''), 'json');
  assert.equal(kindOf('', '{"a":1}'), 'json');
  assert.equal(kindOf('text/plain', '<html>'), 'text');
  assert.equal(kindOf('image/png', 'x'), null);
  assert.equal(kindOf('application/octet-stream', Buffer.from([0, 1, 2])), null);
  assert.equal(kindOf('application/zip', 'PK\x03\x04\x14\0'), null);
  assert.equal(kindOf('application/msword', Buffer.from([0xd0, 0xcf, 0x11, 0xe0])), null);
  assert.equal(kindOf('image/svg+xml', '<svg>'), null);
  const xhtml = '<?xml version="1.0"?>\n<!DOCTYPE html PUBLIC "x">\n<html xmlns="http://www.w3.org/1999/xhtml">';
  for (const type of ['text/xml', 'application/xml', '']) assert.equal(kindOf(type, xhtml), 'html');
  for (const type of ['text/html', 'text/plain', '']) assert.equal(kindOf(type, '<?xml version="1.0"?><rss>'), 'xml');
});

test('code and data are text, whatever their type', () => {
  // The first bytes that are looked at end within a character.
  const long = Buffer.from(`# ${'ж'.repeat(5_000)}`);
  for (const type of ['application/yaml', 'application/x-sh', 'application/javascript', 'video/mp2t'])
    for (const body of [Buffer.from('a: 1'), long]) assert.equal(pageKindOf(type, body), 'text', type);
});

test('a page that tells of the mark of a PDF is a page', () => {
  const tells = '<!doctype html><title>The header %PDF-1.7</title>';
  assert.equal(pageKindOf('text/html', Buffer.from(tells)), 'html');
  assert.equal(pageKindOf('', Buffer.from(tells)), 'html');
  assert.equal(pageKindOf('', Buffer.from("magic = b'%PDF-1.7'")), 'text');
  assert.equal(pageKindOf('application/pdf', Buffer.from('junk\n%PDF-1.7')), 'pdf');
  assert.equal(pageKindOf('text/html', Buffer.from('\n%PDF-1.7')), 'pdf');
});
