/** One way in which an upstream can fail, as a spec of the mock (`GET /_mock`), and the class it must be told by. */
export interface FaultCase {
  name: string;
  spec: string;
  /** Of a whole answer; null when the fault has no such form. */
  whole: string | null;
  /** Of a streamed one. */
  stream: string | null;
  /** Class over an Anthropic-format upstream, where it differs: its answers are asked as a stream in both forms. */
  anthropic?: string | null;
}

const statusCases: readonly FaultCase[] = (
  [
    [307, 'transient'],
    [401, 'bad_credential'],
    [402, 'quota_exhausted'],
    [403, 'bad_credential'],
    [408, 'transient'],
    [410, 'model_unavailable'],
    [425, 'transient'],
    [429, 'rate_limited'],
    [451, 'region_blocked'],
    [500, 'transient'],
    [502, 'transient'],
    [503, 'transient'],
    [504, 'transient'],
    [529, 'transient'],
  ] as const
).map(([status, of]) => ({
  name: `status ${status}`,
  spec: status === 307 ? 'redirect' : `status=${status}`,
  whole: of,
  stream: of,
}));

/** Everything that can go wrong before the first piece of content (design §8). */
export const beforeContent: readonly FaultCase[] = [
  ...statusCases,
  {
    name: 'status 404 of the model',
    spec: 'status=404;message=The%20model%20does%20not%20exist',
    whole: 'model_unavailable',
    stream: 'model_unavailable',
  },
  {
    name: 'status 429 of a spent quota',
    spec: 'status=429;code=insufficient_quota',
    whole: 'quota_exhausted',
    stream: 'quota_exhausted',
  },
  {
    name: 'F3 accepts, never answers',
    spec: 'hang',
    whole: 'stall_idle',
    stream: 'stall_first_token',
    anthropic: 'stall_first_token',
  },
  {
    name: 'F5 headers, then silence',
    spec: 'stall',
    whole: 'stall_idle',
    stream: 'stall_first_token',
    anthropic: 'stall_first_token',
  },
  { name: 'F5 an opening event, then silence', spec: 'stall=1events', whole: null, stream: 'stall_first_token' },
  { name: 'F6 reset before the headers', spec: 'reset', whole: 'transient', stream: 'transient' },
  { name: 'F6 reset in the middle', spec: 'cut', whole: 'truncated', stream: null },
  { name: 'F6 reset after the opening event', spec: 'cut=1events', whole: null, stream: 'truncated' },
  { name: 'F7 closed after the headers', spec: 'fin=0', whole: 'truncated', stream: 'truncated' },
  { name: 'F7 closed after the opening event', spec: 'fin=1events', whole: null, stream: 'truncated' },
  { name: 'F7 a clean end after the opening event', spec: 'eof=1events', whole: null, stream: 'truncated' },
  { name: 'F12 an empty body', spec: 'empty', whole: 'malformed', stream: 'malformed' },
  { name: 'F12 an HTML page with status 200', spec: 'html', whole: 'malformed', stream: 'malformed' },
  // A broken line of a converted stream is skipped (design §9), and that is how Messages are asked.
  { name: 'F12 broken JSON', spec: 'malformed', whole: 'malformed', stream: null, anthropic: null },
  {
    name: 'F12 JSON that ends in the middle',
    spec: 'eof=300',
    whole: 'malformed',
    stream: null,
    anthropic: 'truncated',
  },
  { name: 'F12 an error object in a 200', spec: 'error=0', whole: 'transient', stream: 'transient' },
  { name: 'F15 a line without end', spec: 'endless=80mb', whole: 'malformed', stream: 'malformed' },
  { name: 'F16 a gzip bomb', spec: 'bomb=200mb', whole: 'malformed', stream: 'malformed' },
];

/** Everything that can go wrong with a stream that has begun to speak. */
export const afterContent: readonly { name: string; spec: string; of: string }[] = [
  { name: 'F5 silence', spec: 'stall=8events', of: 'stall_idle' },
  { name: 'F6 a reset', spec: 'cut=8events', of: 'truncated' },
  { name: 'F7 a close without the end of the message', spec: 'fin=8events', of: 'truncated' },
  { name: 'F7 a clean end without the terminal event', spec: 'eof', of: 'truncated' },
  { name: 'F12 an error event', spec: 'error=4', of: 'transient' },
];
