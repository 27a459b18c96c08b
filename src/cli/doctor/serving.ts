import { createServer } from 'node:net';
import { urlOf, whyNotListening } from '../../http/connections/listening.ts';
import { causeOf } from '../running-server.ts';
import { type Finding, ok, problem, warning } from './finding.ts';

const answerTimeoutMs = 3_000;

/** Whether the server that holds the data folder answers, and is ready. */
export async function serverFinding(url: string | null): Promise<Finding> {
  if (url === null) return ok('server', 'no server runs on this data folder');
  try {
    const ready = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(answerTimeoutMs) });
    const text = (await ready.text()).slice(0, 500);
    return ready.ok
      ? ok('server', `runs at ${url} and is ready`)
      : problem('server', `runs at ${url}, but is not ready: ${text}`, 'Its log says why.');
  } catch (error) {
    return problem(
      'server',
      `holds the data folder, but does not answer at ${url} (${causeOf(error)})`,
      'Restart it. Its log says what it did last.',
    );
  }
}

/** Whether a start could listen. `serverUrl` is the server that runs on the data folder already, or null. */
export async function portFinding(host: string, port: number, serverUrl: string | null): Promise<Finding> {
  if (port === 0) return ok('port', 'the server takes a free one');
  if (serverUrl !== null && new URL(urlOf(host, port)).port === new URL(serverUrl).port)
    return ok('port', `the server uses ${port}`);
  const error = await whyNot(host, port);
  if (error === null) return ok('port', `${port} on ${host} is free`);
  const message = whyNotListening(error, host, port);
  return serverUrl === null
    ? problem('port', message, 'Set server.port, or stop the program that listens there.')
    : warning('port', message, 'The server runs on another port, but the next start needs this one.');
}

function whyNot(host: string, port: number): Promise<unknown> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', resolve);
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(null)));
  });
}
