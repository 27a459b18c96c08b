import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { adminKey, startGateway, testKey } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import { startDoor } from './door.ts';
import { namesOver } from './names.ts';
import type { Peer } from './peers.ts';
import type { TestResult } from './read-junit.ts';
import { Refused } from './refused.ts';
import { modulesToInstall, runSuite, toInstall } from './run-suite.ts';

/** Results of the peer's tests in the folder, and what is not installed for some of them. */
export async function runPeer(
  peer: Peer,
  folder: string,
  only: string | undefined,
): Promise<{ results: TestResult[]; notes: string[] }> {
  const suites = peer.suites(folder);
  const missing = suites.flatMap((suite) => {
    const command = toInstall(suite);
    return command === null ? [] : [`The tests of ${suite.cwd} need what is not installed: ${command}`];
  });
  if (missing.length === suites.length) throw new Refused(missing.join('\n'));
  const ends: (() => Promise<void>)[] = [];
  const scratch = mkdtempSync(join(tmpdir(), 'culvert-peers-'));
  try {
    const upstream = await startUpstream();
    ends.push(() => upstream.close());
    const after = ((end: () => Promise<void>) => void ends.push(end)) as never;
    const gateway = await startGateway({ after }, namesOver(upstream.url));
    const door = await startDoor({ ...peer, gateway: gateway.url, key: testKey, adminKey }).catch((error) => {
      if (error.code !== 'EADDRINUSE') throw error;
      throw new Refused(`Port ${peer.port} is taken. ${peer.name}'s tests call that one: stop what listens there.`);
    });
    ends.push(() => door.close());
    const results: TestResult[] = [];
    for (const suite of suites) {
      if (toInstall(suite) !== null) continue;
      results.push(
        ...(await runSuite(suite, { environment: peer.environment({ url: door.url, key: testKey }), only, scratch })),
      );
    }
    const modules = modulesToInstall(results);
    const notes =
      modules === null ? missing : [...missing, `Modules that the tests need are not installed: ${modules}`];
    return { results, notes };
  } finally {
    for (const end of ends.reverse()) await end();
    rmSync(scratch, { recursive: true, force: true });
  }
}
