import assert from 'node:assert/strict';
import test from 'node:test';
import { needsBrowser } from './needs-browser.ts';

const words = 'There are words on this page, and more of them than any notice that it is loading would ever have. ';
const script = '<script src="/app.js"></script>';
const empty = {
  'React’s root': `<html><head><title>App</title></head><body><noscript>You need to enable JavaScript to run this app.</noscript><div id="root"></div>${script}</body></html>`,
  'Vue’s root, with the script in the head': `<head>${script}</head><body><div id=app></div></body>`,
  'Next’s root': `<body><div id="__next"><!-- later --></div>${script}</body>`,
  'Angular’s element': `<body><app-root></app-root>${script}</body>`,
  'a notice above an empty root': `<body><p>Please wait until the page has come.</p><div class="x" id='root'> </div>${script}`,
  'a plea for JavaScript': `<body><p>Welcome to this site of ours, dear visitor.</p><noscript>Please turn on JavaScript</noscript>${script}`,
  'nothing but a script': `<body>${script}`,
  'one word, and a script that never ends': '<body>Loading…<script>let a = "<p>words words words words words"',
};
const full = {
  'a page with words and scripts': `<body><div id="root"></div><p>${words.repeat(4)}</p>${script}</body>`,
  'a short page without scripts': '<body><p>Hi</p></body>',
  'a short page with data alone': '<body><p>Hi</p><script type="application/ld+json">{"a":1}</script></body>',
  'a short page with a script, but no empty root': `<body><p>It moved to another place, see below.</p>${script}</body>`,
  'a filled root': `<body><div id="root"><p>${words}</p></div>${script}</body>`,
  nothing: '',
};

for (const [name, html] of Object.entries(empty)) {
  test(`needs a browser: ${name}`, () => assert.equal(needsBrowser(Buffer.from(html)), true));
}
for (const [name, html] of Object.entries(full)) {
  test(`is read as it is: ${name}`, () => assert.equal(needsBrowser(Buffer.from(html)), false));
}

test('F59 what was made to be slow is looked at in one pass', () => {
  // If each step began anew, any of these would take minutes.
  for (const piece of ['<', '<!--', '<script', '<script>', '</', '<div id="root"', '<div id="root"><!-- ', '&', ' ']) {
    needsBrowser(Buffer.from(piece.repeat(256 * 1024)));
  }
});
