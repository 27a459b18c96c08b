import { type Behaviours, html, shortMs } from './behaviour.ts';
import { circularPdf, laughingXml, lockedPdf, textPdf } from './bombs.ts';

const typed = (type: string | null, body: string | Buffer): ReturnType<typeof html> => {
  return (response) => void response.writeHead(200, type === null ? {} : { 'content-type': type }).end(body);
};
const nothingOfIt = { page: /^$/, warning: /its content cannot be returned/ };
/** Whether it is read in time depends on the machine. */
const mayBePlainText = (page: RegExp) => ({ page, warning: /^$|plain text/ });
const unreadable = { refused: 'page_unreadable' } as const;
const asPlainText = (page: RegExp) => ({ page, warning: /plain text/ });

/** A page's declared type, and its real one. */
export const contents: Behaviours = {
  'is empty': { answer: html(''), expect: { page: /^$/ } },
  'is a script alone': {
    answer: html('<div id=root></div><script>draw()</script>'),
    expect: { page: /^$/, warning: /need a browser/ },
  },
  'is HTML as plain text': { answer: typed('text/plain', '<p>x</p>'), expect: { page: /<p>x<\/p>/ } },
  'is HTML as bytes': {
    answer: typed('application/octet-stream', '<!doctype html><p>a page'),
    expect: { page: /^a page/ },
  },
  'is HTML without a type': { answer: typed(null, '<!doctype html><p>a page'), expect: { page: /^a page/ } },
  'has a type of a kilobyte': {
    answer: typed(`text/html; ${'x'.repeat(1_000)}`, '<p>typed'),
    expect: { page: /typed/ },
  },
  'has a type that is none': { answer: typed(';;;/', '<!doctype html><p>typed'), expect: { page: /typed/ } },
  'is a picture': { answer: typed('image/png', Buffer.from([137, 80, 78, 71])), expect: nothingOfIt },
  'is a picture that says HTML': {
    answer: typed('text/html', Buffer.from(Array.from({ length: 5_000 }, (_, at) => (at * 7_919) % 256))),
    expect: { page: /./ },
  },
  'is an archive': { answer: typed('application/zip', Buffer.from('PK\x03\x04\0\0')), expect: nothingOfIt },
  'names a charset that is none': {
    answer: typed('text/html; charset=wurst', '<p>caf\u00e9'),
    expect: { page: /café/ },
  },
  'says UTF-8 and is Latin-1': {
    answer: html(Buffer.from('<p>caf\xe9 there</p>', 'latin1')),
    expect: { page: /caf\ufffd there/ },
  },
  'mixes its charsets': {
    answer: typed('text/html', Buffer.concat([Buffer.from('<p>é '), Buffer.from('\xe9 mixed', 'latin1')])),
    expect: { page: /mixed/ },
  },
  'has a mark of UTF-8 and another word in its header': {
    answer: typed('text/html; charset=iso-8859-1', '\ufeff<p>café</p>'),
    expect: { page: /^café/ },
  },
  'is UTF-16 by its mark': {
    answer: typed('text/html', Buffer.from('\ufeff<p>wide</p>', 'utf16le')),
    expect: { page: /^wide/ },
  },
  'is UTF-16 by its header, the other way round': {
    answer: typed('text/html; charset=utf-16be', Buffer.from('<p>wide</p>', 'utf16le').swap16()),
    expect: { page: /^wide/ },
  },
  'is UTF-32': {
    answer: typed(
      'text/html',
      Buffer.from(new Uint32Array([...'\ufeff<p>wider'].map((c) => c.codePointAt(0)!)).buffer),
    ),
    expect: { page: /w.*i.*d.*e.*r/ },
  },
  'is UTF-7': { answer: typed('text/html; charset=utf-7', '<p>+ADw-script+AD4-'), expect: { page: /ADw-script/ } },
  'is full of zero bytes': { answer: html(`<p>zero${'\0'.repeat(100_000)}</p>`), expect: mayBePlainText(/zero/) },
  'is full of controls': { answer: html('<p>\u202e\u0007\u001b[31mred\u0085\ufffe</p>'), expect: { page: /red/ } },

  'is nested 50,000 deep': { answer: html(`${'<div>'.repeat(50_000)}deep down`), expect: asPlainText(/^deep down/) },
  'has 200,000 elements': { answer: html('<i>x</i>'.repeat(200_000)), expect: asPlainText(/^xxx/) },
  'nests its tables': { answer: html(`${'<table><tr><td>'.repeat(60)}inner`), expect: mayBePlainText(/inner/) },
  'nests its lists': { answer: html(`${'<ul><li>'.repeat(90)}inner`), expect: mayBePlainText(/inner/) },
  'nests its forms': { answer: html(`${'<form><input>'.repeat(300)}inner`), expect: mayBePlainText(/inner/) },
  'nests its frames': {
    answer: html(`<p>outer</p>${'<iframe srcdoc="<iframe>">'.repeat(100)}`),
    expect: mayBePlainText(/outer/),
  },
  'closes what it never opened': {
    answer: html(`<p>opened${'</div></p></table>'.repeat(5_000)}`),
    expect: mayBePlainText(/opened/),
  },
  'never closes an attribute': {
    answer: html(`<p>before</p><a href="${'x'.repeat(100_000)}`),
    expect: mayBePlainText(/before/),
  },
  'never closes a comment': {
    answer: html(`<p>before</p><!--${'<p>'.repeat(20_000)}`),
    expect: mayBePlainText(/before/),
  },
  'never closes its script': {
    answer: html(`<p>before</p><script>${'</p>'.repeat(10_000)}`),
    expect: { page: /before/, warning: /^$|plain text|need a browser/ },
  },
  'is CDATA and doctypes': {
    answer: html(`${'<!doctype html [<!ENTITY a "b">]><![CDATA[x]]>'.repeat(1_000)}<p>after</p>`),
    expect: { page: /after/ },
  },
  'has an element of 20,000 attributes': {
    answer: html(`<p ${Array.from({ length: 20_000 }, (_, at) => `a${at}=b`).join(' ')}>attributes</p>`),
    expect: mayBePlainText(/attributes/),
  },
  'has a class of 100,000 names': {
    answer: html(`<p class="${'a '.repeat(100_000)}">classes</p>`),
    expect: mayBePlainText(/classes/),
  },
  'is one word of 100,000 letters': { answer: html(`<p>${'a'.repeat(100_000)}</p>`), expect: mayBePlainText(/^a+/) },
  'is what Markdown takes for form': {
    answer: html(`<p>${'['.repeat(20_000)}</p><p>${'*'.repeat(20_000)}</p><p>${'&lt;'.repeat(10_000)}</p>`),
    expect: mayBePlainText(/\[\[/),
  },
  'is half a megabyte of spaces': { answer: html(`<p>a${' '.repeat(500_000)}b</p>`), expect: mayBePlainText(/^a b/) },
  'is made of entities': { answer: html(`<p>${'&amp'.repeat(20_000)}</p>`), expect: mayBePlainText(/&/) },
  'has a title of a megabyte': {
    answer: html(`<title>${'t'.repeat(1_000_000)}</title><p>titled</p>`),
    expect: mayBePlainText(/titled/),
  },
  'has 300 meta elements': {
    answer: html(`${'<meta property="og:image" content="http://x/1">'.repeat(300)}<p>meta</p>`),
    expect: mayBePlainText(/meta/),
  },
  'has data that is nested without end': {
    answer: html(`<script type="application/ld+json">${'{"a":'.repeat(100_000)}</script><p>data</p>`),
    expect: mayBePlainText(/data/),
  },
  'has a picture within of a megabyte': {
    answer: html(`<p>pictured</p><img src="data:image/png;base64,${'A'.repeat(1_000_000)}">`),
    expect: mayBePlainText(/pictured/),
  },
  'takes whoever looks for its main content minutes': {
    answer: html(`<article><p>${'<span>'.repeat(380)}${'<b>x</b> '.repeat(30_000)}</p></article>`),
    expect: { refused: 'page_timeout' },
    asked: { timeout: shortMs },
  },

  'has 10,000 links': {
    answer: html(Array.from({ length: 10_000 }, (_, at) => `<a href="#${at}">${at}</a>`).join('')),
    expect: mayBePlainText(/9999/),
  },
  'has links that are scripts': {
    answer: html('<p>linked</p><a href="javascript:x()">a</a><a href=" JaVa\nScript:x()">b</a><a href="data:,x">c</a>'),
    expect: { page: /linked/ },
  },
  'has a base that is a script': {
    answer: html('<base href="javascript:x()"><p>based</p><a href="a">a</a>'),
    expect: { page: /based/ },
  },
  'has a base elsewhere': {
    answer: html('<base href="http://169.254.169.254/"><p>based</p><a href="latest">a</a>'),
    expect: { page: /based/ },
  },
  'has links that are no URLs': {
    answer: html('<p>linked</p><a href="http://[">a</a><a href="http://%zz/">b</a><a href="//">c</a><a href="">d</a>'),
    expect: { page: /linked/ },
  },

  'is a PDF that is none': { answer: typed('application/pdf', '%PDF-1.4 nothing'), expect: unreadable },
  'is a PDF behind a password': { answer: typed('application/pdf', lockedPdf()), expect: unreadable },
  'is a PDF whose pages hold themselves': { answer: typed('application/pdf', circularPdf()), expect: unreadable },
  'is a PDF cut in the middle': {
    answer: typed('application/pdf', textPdf(['first page', 'second page']).slice(0, -260)),
    expect: unreadable,
  },
  'is a PDF without its table': {
    answer: typed('application/pdf', textPdf(['only page']).replace(/xref[\s\S]*trailer/, 'trailer')),
    expect: { page: /^only page$/ },
  },
  'is a PDF one of whose pages is lost': {
    answer: typed('application/pdf', textPdf(['first page', null, 'third page'])),
    expect: { page: /^first page$/, warning: /page 2 could not be read/ },
  },
  'is a PDF above the cap': {
    answer: typed('application/pdf', `${textPdf(['large page'])}${' '.repeat(21 * 1024 * 1024)}`),
    expect: { page: /^large page$/, warning: /cut after/ },
  },
  'is JSON of two megabytes': {
    answer: typed('application/json', JSON.stringify(Array.from({ length: 150_000 }, (_, at) => ({ at })))),
    expect: { page: /149999|"at"/, warning: /^$|cut after/ },
  },
  'is JSON nested 100,000 deep': { answer: typed('application/json', '['.repeat(20_000)), expect: { page: /\[\[/ } },
  'is JSON that is none': { answer: typed('application/json', '{"a":'), expect: { page: /\{"a":/ } },
  'is XML that laughs': { answer: typed('text/xml', laughingXml()), expect: { page: /./ } },
  'is XML that reads files': {
    answer: typed('text/xml', '<?xml version="1.0"?><!DOCTYPE a [<!ENTITY f SYSTEM "file:///etc/passwd">]><a>x&f;</a>'),
    expect: { page: /^(?!.*root:)/ },
  },
  'is XML nested 50,000 deep': { answer: typed('text/xml', `${'<a>'.repeat(50_000)}x`), expect: { page: /x/ } },
  'is a picture of XML': {
    answer: typed(
      'image/svg+xml',
      '<svg xmlns="http://www.w3.org/2000/svg"><script>x()</script><text>drawn</text></svg>',
    ),
    expect: { page: /^$/, warning: /svg\+xml', not text/ },
  },
};
