/** One event of a stream of Server-Sent Events that has data. Comments are passed over. */
export interface ServerEvent {
  event: string | null;
  data: string;
}

/** A stream has no line longer than this, in characters; what a broken server sends must not fill the memory. */
const lineMax = 32_000_000;

/** The events of a body as they come. Throws errors of reading; ends with the body. */
export async function* serverEvents(response: Response): AsyncGenerator<ServerEvent> {
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  let event: string | null = null;
  let data: string[] = [];
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      rest += value;
      if (rest.length > lineMax) throw new Error('A line of the stream is too long.');
      const lines = rest.split(/\r\n|\n|\r(?!$)/);
      rest = lines.pop()!;
      for (const line of lines) {
        if (line === '') {
          if (data.length > 0) yield { event, data: data.join('\n') };
          event = null;
          data = [];
        } else if (line.startsWith('data:')) data.push(line.slice(line.charAt(5) === ' ' ? 6 : 5));
        else if (line.startsWith('event:')) event = line.slice(6).trim();
      }
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}
