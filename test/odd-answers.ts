import fc from 'fast-check';

export type PeerEnd = 'closes' | 'resets';

const often = <T>(usual: T, ...others: T[]): fc.Arbitrary<T> =>
  fc.oneof({ weight: 14, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: fc.constantFrom(...others) });
const lineEnd = fc.oneof(
  { weight: 60, arbitrary: fc.constant('\r\n') },
  { weight: 1, arbitrary: fc.constantFrom('\n', '\r', '\r\r\n', '\n\r\n', '\r\n ') },
);
const statusLine = often(
  'HTTP/1.1 200 OK',
  ...['HTTP/1.1 200', 'HTTP/1.1 200 ', 'HTTP/1.0 200 OK', 'HTTP/1.1 204 No Content', 'HTTP/1.1 304 Not Modified'],
  ...['HTTP/1.1 413 Content Too Large', 'HTTP/1.1 529 \xe9', 'HTTP/1.1 20 OK', 'HTTP/1.1 2000 OK', 'HTTP/1.1  200 OK'],
  ...[
    'HTTP/2 200',
    'http/1.1 200 OK',
    'HTTP/1.2 200 OK',
    ' HTTP/1.1 200 OK',
    'HTTP/1.1 101 Switching',
    'HTTP/1.1\t200 OK',
  ],
  ...[
    'HTTP/1.1 200\tOK',
    'HTTP/1.1 +20 OK',
    'HTTP/1.1 999 Odd',
    'HTTP/1.1 000',
    'HTTP/1.1 200OK',
    'HTTP/1.1 200 O\0K',
    'ICY 200 OK',
    '',
  ],
);
const hints = often(
  '',
  'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n',
  'HTTP/1.1 100 Continue\r\n\r\n',
  'HTTP/1.1 102 P\r\nContent-Length: 3\r\n\r\n',
  'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 E\r\nConnection: close\r\n\r\n',
  'HTTP/1.1 103 E\r\nTransfer-Encoding: chunked\r\n\r\n',
  '\r\n',
);
const lengths = [
  '+4',
  '4, 4',
  '4,5',
  '0004',
  '-4',
  '4 4',
  '4\t',
  '\xa04',
  '4\xa0',
  '',
  '0x4',
  '4.0',
  '4e0',
  '99999999999999999999',
  '٤',
  '3',
  '5',
  '0',
];
const connections = [
  'close',
  'Close',
  'keep-alive',
  'close, keep-alive',
  'keep-alive,close',
  'keep-alive\xa0',
  '\xa0close',
  'upgrade',
  'clos',
  '',
];
const codings = [
  'chunked',
  'Chunked',
  'chunked, chunked',
  'gzip, chunked',
  'chunked, gzip',
  'identity',
  'xchunked',
  ' chunked\t',
  'chunked\xa0',
  'chunked;a=b',
  '"chunked"',
  '',
];
const named = (name: fc.Arbitrary<string>, value: fc.Arbitrary<string>) =>
  fc
    .tuple(name, often(': ', ':', ':\t', ' : ', ' ', ''), value, often('', ' ', '\t', '\xa0'))
    .map((parts) => parts.join(''));
const otherLines = fc.oneof(
  named(
    often('Content-Type', 'content-type', 'CONTENT-TYPE'),
    often('application/json', '', 'a\tb', '\xe9', 'x\xa0', 'a\0b', 'a\rb', 'a\x7fb', '"a\\'),
  ),
  named(often('Connection', 'connection', 'Proxy-Connection'), fc.constantFrom(...connections)),
  fc.constantFrom('Set-Cookie: a=1', 'Keep-Alive: timeout=5', 'Trailer: X-Sum', 'Content-Encoding: identity'),
  often(
    'Server: x',
    ': nameless',
    ' folded',
    'no colon',
    'b@d: 1',
    'X y: 1',
    '\xe9: 1',
    '\tX: 1',
    'X\0: 1',
    'Upgrade: h2c',
  ),
);
const hex = (n: number): string => n.toString(16);
const chunkSize = often(
  hex,
  ...[(n: number) => hex(n).toUpperCase(), (n: number) => `000${hex(n)}`, (n: number) => `${hex(n)};a=b`],
  ...['# ', ' #', '# ;a', '#\t', '0x#', '+#', '#0', '#;', '#;\xe9\0', '#;a=1;b="2"', '#;a="\r"'].map(
    (form) => (n: number) => form.replace('#', hex(n)),
  ),
  ...['#g', '#,#', '#;a b', 'ffffffffffffffffff', ''].map((form) => (n: number) => form.replaceAll('#', hex(n))),
);
const chunks = fc
  .array(
    fc.tuple(fc.constantFrom('abc', 'hello world', '\r\n', '0\r\n\r\n', 'x'.repeat(17)), chunkSize, lineEnd, lineEnd),
    { maxLength: 3 },
  )
  .map((list) => list.map(([data, size, a, b]) => size(data.length) + a + data + b).join(''));
const trailers = often(
  '',
  'X-Sum: 1\r\n',
  'X: 1\nY: 2\r\n',
  'no colon\r\n',
  'X: a\0\r\n',
  ' X: 1\r\n',
  'Content-Length: 9\r\n',
  'X: a\rb\r\n',
  '\n',
  'Transfer-Encoding: chunked\r\n',
  ': a\r\n',
  'X : 1\r\n',
);
const behind = often('', '\r\n', 'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil', 'x', '0\r\n\r\n', '\0');
const framed = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.tuple(named(often('Content-Length', 'content-length'), often('4', ...lengths)), fc.constant('four')),
  },
  {
    weight: 4,
    arbitrary: fc.tuple(
      named(often('Transfer-Encoding', 'transfer-encoding'), often('chunked', ...codings)),
      fc.tuple(chunks, often('0', '00', '', '0;a'), lineEnd, trailers, lineEnd).map((parts) => parts.join('')),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.tuple(
      fc.constantFrom(
        '',
        'Content-Length: 4\r\nContent-Length: 4',
        'Content-Length: 4\r\nContent-Length: 5',
        'Content-Length: 4\r\nTransfer-Encoding: chunked',
        'Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked',
      ),
      fc.constantFrom('four', '4\r\nfour\r\n0\r\n\r\n'),
    ),
  },
);
const answer = fc
  .tuple(
    hints,
    statusLine,
    lineEnd,
    fc.array(fc.tuple(otherLines, lineEnd), { maxLength: 3 }),
    framed,
    lineEnd,
    lineEnd,
    fc.array(fc.tuple(otherLines, lineEnd), { maxLength: 1 }),
    behind,
  )
  .map(([hint, line, end, before, [frame, body], frameEnd, headEnd, after, rest]) =>
    [
      hint,
      line,
      end,
      ...before.flat(),
      ...(frame === '' ? [] : [frame, frameEnd]),
      ...after.flat(),
      headEnd,
      body,
      rest,
    ].join(''),
  );
const mutation = fc.oneof(
  { weight: 3, arbitrary: fc.constant((text: string) => text) },
  {
    weight: 1,
    arbitrary: fc
      .tuple(
        fc.nat(),
        fc.nat(3),
        fc.constantFrom('', '\r', '\n', '\r\n', ' ', '\t', '\0', ':', ',', ';', '0', 'f', '\xff'),
      )
      .map(([at, drop, put]) => (text: string) => {
        const from = at % (text.length + 1);
        return text.slice(0, from) + put + text.slice(from + drop);
      }),
  },
  { weight: 1, arbitrary: fc.nat().map((at) => (text: string) => text.slice(0, at % (text.length + 1))) },
);
/** For tests: an upstream's answer, right or wrong, its pieces, and the end of the socket. */
export const oddAnswers = fc.record({
  text: fc.tuple(answer, mutation).map(([text, mutate]) => mutate(text)),
  cuts: fc.array(fc.nat(), { maxLength: 4 }),
  end: fc.constantFrom<PeerEnd>('closes', 'resets'),
});

/** The bytes in pieces, none of them empty. */
export function cut(text: string, cuts: readonly number[]): Buffer[] {
  const bytes = Buffer.from(text, 'latin1');
  const at = [0, ...cuts.map((one) => one % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
  return at
    .slice(1)
    .map((end, i) => bytes.subarray(at[i], end))
    .filter(({ length }) => length > 0);
}
