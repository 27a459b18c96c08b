import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { stringify } from 'yaml';
import { ended, two } from '../saml-certificates.ts';
import { runCommand, temporaryFolder } from '../start-process.ts';

test('doctor names a certificate of the SAML login that has ended, without a server', async (t) => {
  const cwd = temporaryFolder(t);
  const look = async (certificates: string[]) => {
    const idp = { entity_id: 'urn:idp', sso_url: 'https://idp.example.org/sso', certificates };
    const saml = { idp, roles: [{ group: 'root', role: 'owner' }] };
    const config = { server: { public_url: 'https://culvert.example.org' }, dashboard: { saml } };
    writeFileSync(join(cwd, 'culvert.yaml'), stringify(config));
    const { stdout } = await runCommand(['doctor'], { cwd });
    const { findings } = JSON.parse(stdout) as { findings: { check: string; state: string; message: string }[] };
    return findings.filter(({ check }) => check === 'saml certificate');
  };
  const [found] = await look([ended]);
  assert.equal(found?.state, 'problem');
  assert.equal(found.message, 'The certificate of the identity provider ended on 2021-01-01.');
  assert.deepEqual(
    (await look([ended, two.cert])).map(({ state }) => state),
    ['ok'],
  );
});
