// Part of npm run test:image: deploy/one-vm/one-vm.sh on a Debian 12 that systemd has started, as it would be on a machine
// of its own: in a container without a network.

import assert from 'node:assert/strict';
import { copyFileSync, cpSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { temporaryFolder } from '../start-process.ts';
import { imitateMachine, podman, podmanSays, root, toolsMissing } from './podman.ts';

const missing = toolsMissing();
if (missing !== null) {
  console.error(`Machines cannot be made here: ${missing}.`);
  process.exit(1);
}

await imitateMachine();

test('one-vm.sh makes a machine that serves by TLS, and changes nothing when it is called again', async (t) => {
  const executable = join(root, 'build', `culvert-linux-${process.arch}`);
  const share = temporaryFolder(t);
  cpSync(join(root, 'deploy'), join(share, 'deploy'), { recursive: true, verbatimSymlinks: true });
  copyFileSync(executable, join(share, 'culvert'));
  const name = `culvert-vm-${process.pid}`;
  t.after(() => podman('rm', '--force', '--time', '0', name));
  const limits = ['--ulimit=nofile=4096:4096', '--ulimit=nproc=4096:4096'];
  const machine = ['--privileged', '--systemd=always', '--network=none', '--volume', `${share}:/share`];
  await podmanSays('run', '--detach', '--name', name, ...machine, ...limits, 'localhost/machine:12', '/sbin/init');
  const inside = (command: string) => podmanSays('exec', name, 'bash', '-c', command);
  const endMs = Date.now() + 60_000;
  while ((await podman('exec', name, 'systemctl', 'is-system-running')).stdout.trim() !== 'running') {
    assert.ok(Date.now() < endMs, await inside('systemctl --failed --no-pager'));
    await pause(200);
  }
  await inside(
    'openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=ai.example.org -addext subjectAltName=DNS:ai.example.org \
      -days 9 -keyout /root/key.pem -out /root/full.pem 2>/dev/null',
  );
  const setUp = `/share/deploy/one-vm/one-vm.sh --executable /share/culvert --name ai.example.org \
    --certificate /root/full.pem --private-key /root/key.pem`;
  assert.match(await inside(setUp), /Culvert serves https:\/\/ai\.example\.org/);

  const ask = (path: string, rest = '') =>
    inside(`. /etc/culvert/environment; curl -fsS --cacert /root/full.pem --resolve ai.example.org:443:127.0.0.1 \
      -H "Authorization: Bearer $CULVERT_API_KEY" -H 'Content-Type: application/json' ${rest} https://ai.example.org${path}`);
  const chat = JSON.stringify({ model: 'sim/chat', stream: true, messages: [{ role: 'user', content: 'Hello' }] });
  assert.match(await ask('/v1/chat/completions', `-d '${chat}'`), /data: \[DONE\]/);
  // Threads and WASM, behind the service's filter of system calls.
  const points = '{"points": [{"id": 1, "payload": {"text": "Bread is made of flour."}}]}';
  await ask('/v1/vectors/collections', `-d '{"name": "docs", "embedding_model": "culvert-lexical-1024"}'`);
  await ask('/v1/vectors/collections/docs/points', `-d '${points}'`);
  const search = '{"text": "flour", "with_payload": true}';
  assert.match(await ask('/v1/vectors/collections/docs/points/search', `-d '${search}'`), /Bread is made/);
  assert.equal(
    await inside('curl -s -o /dev/null -w "%{http_code}" -H "Host: ai.example.org" http://127.0.0.1/'),
    '301',
  );

  // Chromium makes a sandbox of its own inside the service's.
  const page = '<div id=root></div><script>root.innerHTML = "Written by a script."</script>';
  await inside(`mkdir -p /var/www/page; echo '${page}' > /var/www/page/index.html
    echo 'server { listen 8081; root /var/www/page; }' > /etc/nginx/conf.d/page.conf; nginx -s reload
    echo 'fetch: { allow_private: ["127.0.0.1:8081"] }' >> /etc/culvert/culvert.yaml; systemctl reload culvert`);
  const scrape = '{"url": "http://127.0.0.1:8081/", "render": "always"}';
  let read = '';
  // The reload takes a moment.
  for (let tries = 0; tries < 20 && !read.includes('Written by'); tries += 1) {
    await pause(500);
    read = await ask('/v1/tools/scrape', `-d '${scrape}'`).catch((error) => String(error));
  }
  assert.match(read, /Written by a script/, await inside('journalctl -u culvert -n 5 --no-pager'));

  const state = () =>
    inside(
      `systemctl show culvert -P MainPID; md5sum /etc/culvert/* /etc/nginx/conf.d/culvert.conf; stat -c '%U %a %n' \
        /etc/culvert/environment /var/lib/culvert /var/lib/culvert/culvert.db; ps -o user= -p $(systemctl show culvert -P MainPID)`,
    );
  const before = await state();
  assert.match(
    before,
    /root 640 \/etc\/culvert\/environment\nculvert 700 \/var\/lib\/culvert\nculvert 600 .*\nculvert$/,
  );
  await inside(setUp);
  assert.equal(await state(), before, 'the second call restarted or changed something');

  // A new version: the service starts again, and still has its data.
  await inside('printf x >> /share/culvert');
  await inside(setUp);
  assert.notEqual((await state()).split('\n')[0], before.split('\n')[0]);
  assert.match(await ask('/v1/vectors/collections/docs/points/search', `-d '${search}'`), /Bread is made/);
  assert.match(await inside('journalctl -u culvert --no-pager'), /SIGTERM: running requests finish/);
});
