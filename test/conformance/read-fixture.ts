import { isObject, type JsonObject, type JsonValue } from '../../src/kernel/json.ts';
import { type Exchange, exchangeOf, headersOf, parsed } from './exchange.ts';
import { addressOfShape } from './services.ts';

/**
 * Fixture files without a recorder's frame: `{request, response}`, a whole answer, the text of a stream, or its events
 * as JSON, one a line. Its shape and its path tell the service; a file without these signs is ignored.
 */
export function readFixture(from: string, text: string): Exchange[] {
  const whole = parsed(text);
  if (isObject(whole) && isObject(whole.request) && isObject(whole.response)) return readPair(from, whole);
  if (isObject(whole)) return answered(from, whole, text);
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  if (lines.some((line) => line.startsWith('data:'))) {
    const first = lines.find((line) => line.startsWith('data:'))!;
    return answered(from, parsed(first.slice(5)), text);
  }
  const events = lines.map(parsed);
  if (events.length === 0 || !events.every(isObject)) return [];
  return answersOf(events).flatMap((one, at) => {
    const frames = one.map(asFrame).join('');
    // The end mark of OpenAI's format is not an event.
    const end = Array.isArray(one[0]?.choices) ? 'data: [DONE]\n\n' : '';
    return answered(at === 0 ? from : `${from}#${at}`, one[0], frames + end);
  });
}

/** A file may hold the streams of several steps, one behind the other. */
function answersOf(events: readonly JsonObject[]): JsonObject[][] {
  const answers: JsonObject[][] = [];
  for (const event of events) {
    if (answers.length === 0 || event.type === 'message_start' || event.type === 'response.created') answers.push([]);
    answers.at(-1)!.push(event);
  }
  return answers;
}

function asFrame(event: JsonObject): string {
  const name = typeof event.type === 'string' ? `event: ${event.type}\n` : '';
  return `${name}data: ${JSON.stringify(event)}\n\n`;
}

function readPair(from: string, { request, response }: JsonObject): Exchange[] {
  const [asked, got] = [request as JsonObject, response as JsonObject];
  // Either is the message with its body, or the body itself.
  const sent = isObject(asked.body) ? asked.body : asked;
  const body = got.body ?? got;
  const shape = typeof body === 'string' ? parsed(/data:(.*)/.exec(body)?.[1] ?? body) : body;
  const url = typeof asked.url === 'string' ? asked.url : addressOfShape(from, shape);
  if (url === null) return [];
  const status = typeof got.status === 'number' ? got.status : 200;
  const exchange = exchangeOf(
    from,
    { url, headers: headersOf(asked.headers), body: sent },
    { status, headers: headersOf(got.headers), body },
  );
  return exchange === null ? [] : [exchange];
}

function answered(from: string, shape: JsonValue | undefined, text: string): Exchange[] {
  const url = addressOfShape(from, shape);
  if (url === null) return [];
  const exchange = exchangeOf(from, { url, headers: {}, body: null }, { status: 200, headers: {}, body: text });
  return exchange === null ? [] : [exchange];
}
