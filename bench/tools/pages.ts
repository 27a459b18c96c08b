/** Pages of known size, made of the same sentences every time. */
const words =
  'river barge harbour bridge market tower ledger spring water path boat quay museum keeper bell vineyard mountain ferry noon bicycle people century trade stone wall garden window letter'.split(
    ' ',
  );

function sentence(seed: number): string {
  const chosen = Array.from({ length: 14 }, (_, at) => words[(seed * 7 + at * 11 + ((seed * at) % 13)) % words.length]);
  return `The ${chosen.slice(0, 7).join(' ')}, and the ${chosen.slice(7).join(' ')}.`;
}

function paragraph(seed: number, link = `/note/${seed}`): string {
  const sentences = Array.from({ length: 5 }, (_, at) => sentence(seed * 5 + at));
  sentences[2] = `<a href="${link}">${sentences[2]}</a>`;
  return `<p>${sentences.join(' ')}</p>`;
}

function article(bytes: number, heading = 'A river and its town', linkOf?: (at: number) => string): string {
  let text = `<h1>${heading}</h1>`;
  for (let at = 0; text.length < bytes; at++) {
    if (at % 8 === 7) text += `<h2>${sentence(at)}</h2>`;
    if (at % 15 === 14) text += `<ul>${[1, 2, 3].map((item) => `<li>${sentence(at + item)}</li>`).join('')}</ul>`;
    text += paragraph(at, linkOf?.(at));
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

/**
 * Page `at` of a site of `count`: 10 to 40 KB, a quarter of it script, its text linking to other pages of the site. All
 * are reached from page 0, each says something else.
 */
export function sitePage(at: number, count: number): string {
  const bytes = 7_000 + ((at * 7_919) % 22_000);
  // Two ways on from each, so that a crawl soon has many to choose from; the others lead anywhere.
  const linkOf = (link: number) => `/p/${link < 2 ? (at * 2 + link + 1) % count : (at * 31 + link * 17) % count}`;
  const heading = `River ${at} and its town`;
  return page(article(bytes, heading, linkOf), { scriptBytes: Math.round(bytes / 3), links: 12 }).replace(
    '<title>A river</title>',
    `<title>${heading}</title>`,
  );
}

/** Passes the first look at a page, being neither deep nor large, and takes what finds its main content minutes. */
export const hangingPage = `<!doctype html><html><body><article><p>${'<span>'.repeat(380)}${'<b>x</b> '.repeat(30_000)}</p></article></body></html>`;
