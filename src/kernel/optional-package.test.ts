import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { installCommand, isInstalled } from './optional-package.ts';

test('the command that installs an optional package fits how Culvert was installed', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'culvert-optional-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const program = (place: string) => join(place, 'node_modules/culvert-gateway/dist/main.js');
  assert.equal(installCommand('nodemailer', program(folder)), 'npm install --global nodemailer');
  assert.equal(
    installCommand('nodemailer', program('/home/me/.npm/_npx/3f2a')),
    'npx --package culvert-gateway --package nodemailer culvert',
  );
  writeFileSync(join(folder, 'package.json'), '{}');
  assert.equal(installCommand('nodemailer', program(folder)), `npm install nodemailer in ${folder}`);
  assert.equal(installCommand('nodemailer', '/app/dist/main.js'), 'npm install nodemailer, next to Culvert');
});

test('a package that is not there is told from one that is', () => {
  assert.deepEqual([isInstalled('zod'), isInstalled('no-such-package')], [true, false]);
});
