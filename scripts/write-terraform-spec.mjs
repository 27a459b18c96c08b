// Writes deploy/terraform/culvert.json, the specification of a Terraform provider, from the admin API's OpenAPI. A gateway
// of this checkout gives it. Run with the repository's Node: `node_modules/.bin/node scripts/write-terraform-spec.mjs`.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createGateway } from '../src/main/create-gateway.ts';
import { terraformSpec } from './docs/terraform-spec.ts';

const folder = mkdtempSync(join(tmpdir(), 'culvert-terraform-'));
const gateway = createGateway({ config: { storage: { data_dir: folder }, autodetect: 'off' } });
try {
  const { url } = await gateway.listen({ host: '127.0.0.1', port: 0 });
  const openApi = await (await fetch(`${url}/openapi.json`)).json();
  const text = `${JSON.stringify(terraformSpec(openApi), null, 2)}\n`;
  writeFileSync(new URL('../deploy/terraform/culvert.json', import.meta.url), text);
} finally {
  await gateway.close();
  rmSync(folder, { recursive: true, force: true });
}
