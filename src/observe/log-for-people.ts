import { PinoPretty } from 'pino-pretty';

type Line = Readonly<Record<string, unknown>>;

/** Members of every line that are shown elsewhere, or say nothing to a reader at the same machine. */
const elsewhere: ReadonlySet<string> = new Set(['level', 'time', 'msg']);

/** The log as a person at a terminal reads it: a line each, `15:04:05 INFO 200 chat sim/chat, 43 ms, 8 + 46 tokens, req_…`. */
export function logForPeople(): ReturnType<typeof PinoPretty> {
  return PinoPretty({
    // By NO_COLOR, FORCE_COLOR and TERM, as Node reads them.
    colorize: process.stdout.hasColors?.() ?? false,
    translateTime: 'SYS:HH:MM:ss',
    hideObject: true,
    messageFormat: (line) => (line.msg === 'request' ? requestLine(line) : otherLine(line)),
    destination: 1,
  });
}

/** Fields of one finished request (`LoggedRequest`). */
export function requestLine(line: Line): string {
  const { status, endpoint, model, target, ms, inputTokens, outputTokens, requestId } = line;
  const failed = line.class === 'ok' ? '' : ` ${line.class}`;
  const by = target === null || target === model ? '' : ` by ${target}`;
  return `${status}${failed} ${endpoint} ${model}${by}, ${ms} ms, ${inputTokens} + ${outputTokens} tokens, ${requestId}`;
}

/** The message, then its facts as JSON. */
export function otherLine(line: Line): string {
  const facts = Object.entries(line).filter(([name, value]) => !elsewhere.has(name) && value !== undefined);
  return facts.length === 0 ? String(line.msg) : `${line.msg} ${JSON.stringify(Object.fromEntries(facts))}`;
}
