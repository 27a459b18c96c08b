import { tokensOf } from './tokens.ts';

// Each word with the blank before it is one token.
const filler = tokensOf(
  ' water flows through the culvert under the road and comes out clear on the other side where the path goes on',
);

/** Words that make exactly `count` tokens. */
export function fillerTokens(count: number): string {
  return Array.from({ length: count }, (_, at) => filler[at % filler.length])
    .join('')
    .trimStart();
}

const fillerLine = `${fillerTokens(filler.length)} `;

/** `bytes` of ASCII words. */
export function fillerBytes(bytes: number): string {
  return fillerLine.repeat(Math.ceil(bytes / fillerLine.length)).slice(0, bytes);
}

const echoedCharsMax = 80;

function beginning(text: string): string {
  const line = text.trim();
  if (line.length <= echoedCharsMax) return line;
  const cut = line.slice(0, echoedCharsMax);
  return `${cut.isWellFormed() ? cut : cut.slice(0, -1)}…`;
}

const reminder = { begins: '<system-reminder>', ends: '</system-reminder>' };

/** Without what Claude Code puts before its user's words. */
function usersWords(text: string): string {
  let words = text.trimStart();
  while (words.startsWith(reminder.begins)) {
    const end = words.indexOf(reminder.ends);
    if (end < 0) break;
    words = words.slice(end + reminder.ends.length).trimStart();
  }
  return words;
}

/** Text for a newcomer without any provider. */
export function zeroKeyText(lastUserText: string): string {
  const echoed = beginning(usersWords(lastUserText));
  const echo = echoed === '' ? '' : ` You said: “${echoed}”`;
  return `[simulated] Culvert works, but no AI provider is configured yet: set OPENAI_API_KEY=… (or add a provider to culvert.yaml) and restart for real answers.${echo}`;
}

export function mockText(name: string, lastUserText: string): string {
  const from = name === '' ? '' : ` from ${name}`;
  return lastUserText === '' ? `Mock answer${from}.` : `Mock answer${from} to: ${beginning(lastUserText)}`;
}

/** Placeholder transcript for `seconds` of audio, which nobody listened to. */
export function zeroKeyTranscript(seconds: number): string {
  return `[simulated] Nobody listened to these ${seconds.toFixed(1)} seconds: no provider that transcribes is configured yet. Set OPENAI_API_KEY=… (or add a provider to culvert.yaml) and restart for real answers.`;
}

export function mockTranscript(name: string, file: string, seconds: number): string {
  return `Mock transcript${name === '' ? '' : ` from ${name}`} of ${file}, ${seconds.toFixed(1)} seconds.`;
}
