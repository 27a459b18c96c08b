import { unrestricted } from '../../src/books/auth/principal.ts';
import { createCallerTokens } from '../../src/books/auth/tokens/caller-tokens.ts';
import { configSchema } from '../../src/config/schema.ts';
import { systemClock } from '../../src/kernel/clock.ts';
import { isFailure } from '../../src/kernel/failure.ts';
import { startTokenIssuer } from '../../test/start-token-issuer.ts';
import { finish } from '../results.ts';
import { judged, print, type Row } from '../rows.ts';

const audience = 'culvert';
const tokensARound = 2_000;
const rounds = 5;
const warmMs = 8_000;
const principal = unrestricted('default');

interface Headers {
  authorization: string;
}

interface Callers {
  ask(headers: Headers): Promise<void>;
  /** Headers with tokens that were never seen. */
  tokens(count: number): Promise<Headers[]>;
  close(): Promise<void>;
}

async function callersOf(alg: 'ES256' | 'RS256'): Promise<Callers> {
  const issuer = await startTokenIssuer(audience, alg);
  const { tokens } = configSchema.parse({
    callers: { tokens: [{ issuer: issuer.issuer, audience, account: 'dev' }] },
  }).callers;
  const callers = createCallerTokens(
    systemClock,
    () => tokens,
    () => principal,
  );
  return {
    async ask(headers) {
      const known = callers.principal(headers);
      const found = known instanceof Promise ? await known : known;
      if (found === null || isFailure(found)) throw new Error('a token was refused');
    },
    tokens: (count) =>
      Promise.all(
        Array.from({ length: count }, async (_, at) => {
          const token = await issuer.sign({ sub: `caller-${at % 50}`, jti: crypto.randomUUID() });
          // A text without parts, as the parser of HTTP makes it.
          return { authorization: Buffer.from(`Bearer ${token}`).toString('latin1') };
        }),
      ),
    close: issuer.close,
  };
}

/** CPU of one token, in µs, of the whole process: signatures are verified in its threads. */
async function cpuUs(tokens: readonly Headers[], ask: Callers['ask']): Promise<number> {
  const before = process.cpuUsage();
  for (const token of tokens) await ask(token);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / tokens.length;
}

const rows: Row[] = [];
for (const alg of ['RS256', 'ES256'] as const) {
  const { ask, tokens, close } = await callersOf(alg);
  for (const untilMs = performance.now() + warmMs; performance.now() < untilMs; )
    await cpuUs(await tokens(tokensARound), ask);
  const [first, again]: [number[], number[]] = [[], []];
  for (let round = 0; round < rounds; round++) {
    const some = await tokens(tokensARound);
    first.push(await cpuUs(some, ask));
    again.push(await cpuUs([...some, ...some, ...some, ...some], ask));
  }
  rows.push(
    judged(`a token of ${alg}, verified`, first, { atMost: 60, unit: ' µs', digits: 1 }),
    judged('… that came before', again, { atMost: 2, unit: ' µs', digits: 2 }),
  );
  await close();
}
print(rows);
finish({
  subject: 'callers',
  command: 'npm run bench -- callers',
  how: 'Callers with tokens of an issuer (JWT, RFC 7519), one after the other, as CPU of the process and its threads.',
  rows,
});
