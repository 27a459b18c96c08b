/** Pages of known size, made of the same sentences every time. */
const words =
  'river barge harbour bridge market tower ledger spring water path boat quay museum keeper bell vineyard mountain ferry noon bicycle people century trade stone wall garden window letter'.split(
    ' ',
  );

function sentence(seed: number): string {
  const chosen = Array.from({ length: 14 }, (_, at) => words[(seed * 7 + at * 11 + ((seed * at) % 13)) % words.length]);
  return `The ${chosen.slice(0, 7).join(' ')}, and the ${chosen.slice(7).join(' ')}.`;
}

function paragraph(seed: number): string {
  const sentences = Array.from({ length: 5 }, (_, at) => sentence(seed * 5 + at));
  sentences[2] = `<a href="/note/${seed}">${sentences[2]}</a>`;
  return `<p>${sentences.join(' ')}</p>`;
}

function article(bytes: number): string {
  let text = '<h1>A river and its town</h1>';
  for (let at = 0; text.length < bytes; at++) {
    if (at % 8 === 7) text += `<h2>${sentence(at)}</h2>`;
    if (at % 15 === 14) text += `<ul>${[1, 2, 3].map((item) => `<li>${sentence(at + item)}</li>`).join('')}</ul>`;
    text += paragraph(at);
  }
  return `<main><article>${text}</article></main>`;
}

const links = (count: number) =>
  Array.from(
    { length: count },
    (_, at) => `<li><a href="/l/${at}" class="item">${words[at % words.length]}</a></li>`,
  ).join('');

function page(body: string, parts: { scriptBytes: number; links: number }): string {
  const script = `window.state=${JSON.stringify('x '.repeat(parts.scriptBytes / 2))};`;
  return `<!doctype html><html lang="en"><head><title>A river</title><style>.a{color:red}</style><script>${script}</script></head>
<body><nav><ul>${links(parts.links)}</ul></nav>${body}<aside class="related"><ul>${links(20)}</ul></aside><footer>2026</footer></body></html>`;
}

/** An article of 10 KB, its frame included. */
export const smallPage = page(article(7_500), { scriptBytes: 500, links: 8 });
/** 400 KB as sites send them: a third is text, the rest scripts and navigation. */
export const largePage = page(article(130_000), { scriptBytes: 235_000, links: 400 });
/** 400 KB of text alone: the worst that its size allows without tricks. */
export const densePage = page(article(395_000), { scriptBytes: 500, links: 8 });
