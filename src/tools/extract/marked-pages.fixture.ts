/** A page whose main text is known: `html` as a site of this make would send it, `main` the lines that a reader wants. */
export interface MarkedPage {
  name: string;
  html: string;
  main: readonly string[];
}

const paragraphs = [
  'The river has carried barges since the fourteenth century, and the town grew where they were unloaded.',
  'Its first bridge, built of oak, was lost in the flood of 1564; the second stood for two hundred years.',
  'Today most of the freight goes by rail, but three boats still leave the upper quay every morning.',
  'Whoever visits in spring should bring boots, since the path along the bank is under water until May.',
  'The old customs house holds a small museum, open on weekends, whose keeper likes to be asked questions.',
  'Inside are ledgers of four centuries, a model of the harbour, and the bell that warned of high water.',
  'From the tower one sees the vineyards on the far side, and on clear days the mountains behind them.',
  'A ferry crosses at noon and at six; it takes bicycles, dogs, and no more than twelve people at a time.',
];
const list = ['Bring boots in spring', 'Ask the keeper about the bell', 'Take the ferry at noon'];
const menu = ['Home', 'News', 'Sports', 'Weather', 'Culture', 'Shop', 'About us', 'Contact'];

const nav = `<nav class="main-nav"><ul>${menu.map((word) => `<li><a href="/${word}">${word}</a></li>`).join('')}</ul></nav>`;
const cookies =
  '<div id="cookie-banner" class="cookie-consent"><p>We use cookies to improve your experience.</p><button>Accept all</button></div>';
const footer = `<footer class="site-footer"><p>© 2026 Example Media. All rights reserved.</p><ul>${menu.map((word) => `<li><a href="/f/${word}">${word}</a></li>`).join('')}</ul></footer>`;
const related = `<aside class="related-posts"><h3>Related articles</h3><ul>${menu.map((word) => `<li><a href="/r/${word}">Ten things about ${word}</a></li>`).join('')}</ul></aside>`;
const share =
  '<div class="social-share"><a href="https://social.example/share">Share</a> <a href="https://mail.example">Email</a></div>';
const newsletter =
  '<section class="newsletter-signup"><h4>Subscribe to our newsletter</h4><form><input type="email"><button>Sign up</button></form></section>';
const comments =
  '<section id="comments" class="comments"><h3>2 comments</h3><div class="comment"><p>Great read, thanks!</p></div><div class="comment"><p>First!</p></div></section>';
const title = 'A river and its town';
const p = (lines: readonly string[]) => lines.map((line) => `<p>${line}</p>`).join('\n');
const head = `<head><meta charset="utf-8"><title>${title} | Example</title><style>body{color:red}</style><script>var tracking = "<p>not text</p>";</script></head>`;
const page = (body: string) => `<!doctype html><html lang="en">${head}<body>${body}</body></html>`;

/** Sites as they are made: by theme, by hand, by framework, long ago. */
export const markedPages: readonly MarkedPage[] = [
  {
    name: 'a blog of a common theme',
    main: [title, ...paragraphs, 'What to do', ...list],
    html: page(`${cookies}<header class="site-header">${nav}</header><div class="wrap"><main><article class="post">
      <header><h1 class="entry-title">${title}</h1></header><div class="entry-content">${p(paragraphs)}
      <h2>What to do</h2><ul>${list.map((item) => `<li>${item}</li>`).join('')}</ul></div>${share}</article>${comments}</main>
      ${related}</div>${newsletter}${footer}`),
  },
  {
    name: 'a news page of divisions without meaning',
    main: [title, ...paragraphs],
    html: page(`<div class="top-bar">${nav}</div><div class="grid"><div class="col-left sidebar"><div class="widget">
      <h4>Most read</h4><a href="/m/1">Mayor resigns</a><br><a href="/m/2">Rain expected</a></div></div>
      <div class="col-main"><div class="story"><h1>${title}</h1><div class="story-body">${p(paragraphs)}</div></div></div>
      <div class="col-right sidebar"><div class="advertisement">Buy now!</div></div></div>${footer}`),
  },
  {
    name: 'documentation with a tree beside and a table of contents',
    main: [title, ...paragraphs.slice(0, 3), 'Installation', 'npm install river', 'Options', ...paragraphs.slice(3, 6)],
    html: page(`${nav}<div class="layout"><aside class="sidebar toc-tree"><ul>${menu.map((word) => `<li><a href="/docs/${word}">${word} guide</a></li>`).join('')}</ul></aside>
      <main class="docs-content"><h1>${title}</h1>${p(paragraphs.slice(0, 3))}<h2 id="installation">Installation</h2>
      <pre><code class="language-sh">npm install river</code></pre><h2 id="options">Options</h2>${p(paragraphs.slice(3, 6))}</main>
      <nav class="table-of-contents"><a href="#installation">To installation</a><a href="#options">To options</a></nav></div>${footer}`),
  },
  {
    name: 'a page of the nineties, laid out by tables',
    main: [title, ...paragraphs],
    html: `<html><head><title>${title}</title></head><body bgcolor=white><table width=100%><tr><td colspan=2><font size=1>${menu.map((word) => `<a href="/${word}">${word}</a>`).join(' | ')}</font></td></tr>
      <tr><td width=120><a href="/a">Links</a><br><a href="/b">Guestbook</a></td><td><h1>${title}</h1>${paragraphs.map((line) => `<p>${line}`).join('\n')}</td></tr>
      <tr><td colspan=2><font size=1>Copyright 1998</font></td></tr></table></body></html>`,
  },
  {
    name: 'an encyclopedia',
    main: [title, ...paragraphs.slice(0, 4), 'History', ...paragraphs.slice(4)],
    html: page(`<div id="mw-navigation">${nav}</div><div id="content" role="main"><h1 id="firstHeading">${title}</h1>
      <div id="bodyContent"><div id="mw-content-text"><div class="mw-parser-output">${p(paragraphs.slice(0, 4))}
      <h2><span class="mw-headline">History</span></h2>${p(paragraphs.slice(4))}</div></div></div></div>${footer}`),
  },
  {
    name: 'a short notice',
    main: [title, paragraphs[2]!, paragraphs[7]!],
    html: page(`${nav}<main><h1>${title}</h1>${p([paragraphs[2]!, paragraphs[7]!])}</main>${footer}`),
  },
  {
    name: 'an application of a framework, rendered on the server',
    main: [title, ...paragraphs],
    html: page(
      `<div id="__next"><div class="css-1x"><div class="css-2y" role="banner">${nav}</div><div class="css-3z"><div class="css-4a"><h1 class="css-5b">${title}</h1><div class="css-6c">${paragraphs
        .map((line) => `<div class="css-7d"><p class="css-8e"><span>${line}</span></p></div>`)
        .join(
          '',
        )}</div></div></div><div role="contentinfo">${footer}</div></div></div><script>self.__data={"a":1}</script>`,
    ),
  },
  {
    name: 'a site whose own name is the first heading',
    main: [title, ...paragraphs],
    html: page(`<header><h1 class="logo"><a href="/">Example Media</a></h1>${nav}</header><div id="page"><div class="post">
      <h1>${title}</h1>${p(paragraphs)}</div></div>${footer}`),
  },
  {
    name: 'a page whose heading stands above its main content',
    main: [title, ...paragraphs],
    html: page(`${nav}<header class="hero"><h1>${title}</h1></header><main>${p(paragraphs)}</main>${footer}`),
  },
  {
    name: 'an article above a list of videos, each with words of its own',
    main: [title, ...paragraphs],
    html: page(`${nav}<div class="content"><div class="story"><h1>${title}</h1><div class="text">${p(paragraphs)}</div></div>
      <div class="stream">${menu.map((word, at) => `<div class="entry"><a href="/v/${at}"><h3>Ten things about ${word} that you never knew</h3></a><p>In this film about ${word.toLowerCase()} our reporter meets people who have seen it all, and asks them what comes next. <a href="/v/${at}">Watch now</a></p><span>${at + 2}:0${at}</span></div>`).join('')}</div></div>${footer}`),
  },
  {
    name: 'a short report beside the categories of its site and the news of the day',
    main: [title, paragraphs[0]!, paragraphs[3]!],
    html: page(`<div id="wrapper"><div id="left"><ul>${menu.map((word) => `<li><a href="/c/${word}">${word} columns</a></li>`).join('')}</ul></div>
      <div id="middle"><h1>${title}</h1><div class="body">${p([paragraphs[0]!, paragraphs[3]!])}</div><div><a href="/next">Read more</a></div></div>
      <div id="right">${menu.map((word, at) => `<div class="item"><a href="/n/${at}">Minister says ${word.toLowerCase()} must change soon</a><div>By OUR OWN REPORTER</div><div>11/2${at}/2019 0${at}:14 PM</div></div>`).join('')}</div></div>${footer}`),
  },
  {
    name: 'an article with teasers, buttons and calls to subscribe among its paragraphs',
    main: [title, ...paragraphs],
    html: page(`${nav}<article><h1>${title}</h1><p>Published: Tuesday, Nov 19, 2019 10:48</p>${p(paragraphs.slice(0, 3))}
      <p><strong><a href="/r/1">READ MORE: A bridge that was built twice</a></strong></p><div>Advertisement</div>${p(paragraphs.slice(3, 6))}
      <p><strong>DON'T MISS</strong></p><p><a href="/r/2">The bell of the customs house rings again</a></p><p><a href="/r/3">How the ferry got its name</a></p>
      ${p(paragraphs.slice(6))}<p><a href="/app">CLICK HERE TO GET THE RIVER APP</a></p><p>Sign up for <a href="/letter">our letter</a>, every Friday.</p></article>${footer}`),
  },
];
