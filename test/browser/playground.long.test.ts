import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Page } from 'playwright-core';
import { chromiumMissing } from '../chromium.ts';
import { adminKey, startGateway, testKey } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import { assertAccessible, assertLooksRight, openPage, shoot } from './open-page.ts';

const hooks = { after: after as never };
const upstream = await startUpstream();
after(() => upstream.close());
const attack =
  '<img src=x onerror="document.title=1"><script>document.title=2</script> [x](javascript:alert(1)) **bold**';
upstream.script('/attack/v1/chat/completions', [`always text=${attack.replaceAll(';', '%3B')}`]);
upstream.script('/down/v1/chat/completions', ['always status=503;message=down for maintenance']);
upstream.script('/thinks/v1/messages', ['always slow-reasoning=50ms;text=A plain answer.']);

const provider = (path: string, type = 'openai') => ({ type, base_url: upstream.url + path, api_key: 'x' });
const target = (name: string, model: string, more = {}) => ({ targets: [{ provider: name, model, ...more }] });
const config = {
  providers: {
    plain: provider('/v1'),
    attack: provider('/attack/v1'),
    down: provider('/down/v1'),
    thinks: provider('/thinks', 'anthropic'),
  },
  models: {
    fast: target('plain', 'mock/ok', { price: { input: 3, output: 15 } }),
    slow: target('plain', 'mock/interval=50ms;tokens=2000'),
    breaks: target('plain', 'mock/cut=20events;tokens=200'),
    attack: target('attack', 'mock-chat'),
    down: target('down', 'mock-chat'),
    thinks: target('thinks', 'claude-sonnet-4-5', { price: { input: 3, output: 15 } }),
    'tts-1': { type: 'speech', ...target('plain', 'tts-1') },
    'stt-1': { type: 'transcription', ...target('plain', 'whisper-1') },
    pictures: { type: 'image', ...target('plain', 'gpt-image-1', { price: { image: 0.04 } }) },
  },
};
const skip = chromiumMissing;
const gateway = await startGateway(hooks, config);
const path = '/dashboard/playground';

async function choose(page: Page, model: string, lane = 0) {
  await page
    .getByRole('button', { name: /^Model:/ })
    .nth(lane)
    .click();
  await page.getByRole('combobox', { name: 'Find: Model' }).fill(model);
  await page.keyboard.press('Enter');
}

async function ask(page: Page, text: string) {
  const message = page.getByRole('textbox', { name: 'Message' });
  await message.fill(text);
  await message.press('Control+Enter');
}

test('two models answer side by side, with time, tokens and cost, reasoning apart', { skip }, async (t) => {
  const page = await openPage(t, gateway, path);
  await choose(page, 'fast');
  await page.getByRole('button', { name: 'Compare with another model' }).click();
  await choose(page, 'thinks', 1);
  await ask(page, 'How is bread baked?');
  const [first, second] = ['fast', 'thinks'].map((model) =>
    page.getByRole('region', { name: `Conversation with ${model}` }),
  );
  await first!.getByText('Mock answer to: How is bread baked?').waitFor();
  await second!.getByText('A plain answer.').waitFor();
  assert.equal(
    await second!.getByText('The user wants an answer').count(),
    0,
    'the reasoning is folded once the answer is there',
  );
  await second!.getByRole('button', { name: 'Reasoning' }).click();
  await second!.getByText('The user wants an answer').waitFor();
  for (const lane of [first!, second!]) {
    await lane.getByText(/\d+ → \d+ tokens/).waitFor();
    await lane.getByText(/^\$0\.0/).waitFor();
  }
  await assertAccessible(page);
  await shoot(page, 'playground-desktop-light');
});

test('a call says which key it was made with, and belongs to its account', { skip }, async (t) => {
  const page = await openPage(t, gateway, path);
  await page.getByRole('button', { name: /^Key to use/ }).click();
  await page.getByRole('option', { name: 'other · test' }).click();
  await choose(page, 'fast');
  await ask(page, 'Who pays?');
  await page.getByText('Mock answer to: Who pays?').waitFor();
  const id = /req_[\w-]+/.exec((await page.getByRole('link', { name: 'plain' }).getAttribute('href'))!)![0];
  assert.equal((await gateway.fetch(`/v1/requests/${id}`)).status, 404, 'it is not of the account dev');
  await page.getByRole('button', { name: 'View code' }).click();
  await page.getByText('the secret of the key “test”').first().waitFor();
  const shown = await page.getByRole('dialog').innerText();
  assert.match(shown, /curl http:\/\/127\.0\.0\.1:\d+\/v1\/chat\/completions/);
  assert.ok(!shown.includes('sk-cv-'), 'no secret is shown');
  for (const language of ['Python', 'TypeScript']) {
    await page.getByRole('button', { name: language }).click();
    await page.getByText('client.chat.completions.create(').waitFor();
  }
  await assertAccessible(page);
});

for (const format of ['chat', 'messages', 'responses']) {
  test(`${format}: a model calls a tool, a person answers for it, and the model goes on`, { skip }, async (t) => {
    const page = await openPage(t, gateway, `${path}?format=${format}`);
    await choose(page, 'fast');
    await page.getByText('Tools', { exact: true }).click();
    await page.getByRole('button', { name: 'Insert an example' }).click();
    await ask(page, 'Please call get_weather now.');
    await page.getByRole('textbox', { name: 'Result of get_weather' }).fill('{"degrees": 21}');
    await page.getByRole('button', { name: 'Send the result' }).click();
    await page.getByText('Mock answer to: Please call get_weather now.').waitFor();
    const sent = JSON.stringify(upstream.requests().at(-1)!.body);
    assert.match(sent, /degrees.{0,6}: 21/);
  });
}

test('Esc stops an answer, and a stream that is cut keeps what came and says so', { skip }, async (t) => {
  const page = await openPage(t, gateway, path);
  await choose(page, 'slow');
  await ask(page, 'Begin.');
  await page.getByText('water flows').waitFor();
  await page.keyboard.press('Escape');
  await page.getByText('Stopped. The answer so far is kept.').waitFor();
  await choose(page, 'breaks');
  await page.getByRole('button', { name: 'Regenerate' }).click();
  await page.getByRole('alert').getByText('The answer so far is kept.').waitFor();
  await page.getByText('water flows').waitFor();
});

test('a server that goes away in the middle of an answer leaves what came, and what was typed', { skip }, async (t) => {
  const mortal = await startGateway(t, config);
  const page = await openPage(t, mortal, path);
  await choose(page, 'slow');
  await ask(page, 'Begin.');
  await page.getByText('water flows').waitFor();
  await page.getByRole('textbox', { name: 'Message' }).fill('What I want to say next');
  await mortal.close(0);
  await page.getByText(/The answer so far is kept/).waitFor();
  await page.getByText('water flows').waitFor();
  assert.equal(await page.getByRole('textbox', { name: 'Message' }).inputValue(), 'What I want to say next');
});

test('what a model writes is text or markdown, and never runs', { skip }, async (t) => {
  const page = await openPage(t, gateway, path);
  await choose(page, 'attack');
  await ask(page, attack);
  const answer = page.getByRole('article', { name: 'Answer' });
  await answer.locator('strong', { hasText: 'bold' }).waitFor();
  await answer.getByText('<script>').waitFor();
  assert.equal(await page.locator('#page img, #page script, #page a[href^="javascript"]').count(), 0);
  assert.equal(await page.title(), 'Chat · Playground · Culvert');
});

test('a picture goes along, and is shown', { skip }, async (t) => {
  const page = await openPage(t, gateway, path);
  await choose(page, 'fast');
  const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
  await page
    .getByLabel('Images to send')
    .setInputFiles({ name: 'dot.png', mimeType: 'image/png', buffer: Buffer.from(png, 'base64') });
  await page.getByRole('img', { name: 'dot.png' }).waitFor();
  await ask(page, 'What is this?');
  await page.getByText('Mock answer to: What is this?').waitFor();
  assert.ok(JSON.stringify(upstream.requests().at(-1)!.body).includes(png));
});

test('what cannot be sent is said at its field, and the message stays', { skip }, async (t) => {
  const page = await openPage(t, gateway, path);
  await choose(page, 'fast');
  await page.getByRole('textbox', { name: 'Temperature' }).fill('hot');
  await ask(page, 'Hello');
  await page.getByText('Expected a number.').first().waitFor();
  assert.equal(await page.getByRole('textbox', { name: 'Temperature' }).getAttribute('aria-invalid'), 'true');
  assert.equal(await page.getByRole('textbox', { name: 'Message' }).inputValue(), 'Hello');
  await page.getByRole('textbox', { name: 'Temperature' }).fill('');
  await page.getByRole('textbox', { name: 'Max tokens' }).fill('-5');
  await ask(page, 'Hello');
  await page
    .getByRole('alert')
    .getByText(/max_completion_tokens/)
    .waitFor();
});

test('texts are compared, a text is spoken, the sound written down, a picture drawn', { skip }, async (t) => {
  const page = await openPage(t, gateway, `${path}?mode=embeddings`);
  await choose(page, 'culvert-lexical-1024');
  await page.getByRole('button', { name: 'Compare' }).click();
  await page.getByRole('heading', { name: 'Most similar pairs' }).waitFor();
  assert.equal(await page.getByRole('cell', { name: '1.00' }).count(), 4);
  await assertAccessible(page);
  await shoot(page, 'playground-embeddings-desktop-light');

  await page.getByRole('tab', { name: 'Speech' }).click();
  await page.getByRole('button', { name: 'Speak', exact: true }).click();
  const download = page.waitForEvent('download');
  await page.getByRole('link', { name: /^mp3/ }).click();
  const spoken = await (await download).path();
  await assertAccessible(page);

  await page.getByRole('tab', { name: 'Transcription' }).click();
  await page.locator('input[name=file]').setInputFiles(spoken);
  await page.getByRole('button', { name: 'Transcribe' }).click();
  await page.getByRole('heading', { name: 'Transcript' }).waitFor();
  await page.getByRole('button', { name: 'Record', exact: true }).click();
  await page.getByRole('button', { name: 'Stop recording' }).click();
  await page.getByText(/^recording\.\w+,/).waitFor();
  await assertAccessible(page);

  await page.getByRole('tab', { name: 'Images' }).click();
  await page.getByRole('button', { name: 'Generate' }).click();
  await page.getByText('$0.04').waitFor();
  assert.equal(await page.evaluate('document.images[0].naturalWidth'), 1024);
  await assertAccessible(page);
});

test('it can be used on every screen', { skip }, async (t) => {
  const page = await openPage(t, gateway, path, { size: 'phone' });
  await choose(page, 'thinks');
  await ask(page, 'Hello');
  await page.getByText(/^\$0\.0/).waitFor();
  await assertLooksRight(page, 'playground');
  await page.getByRole('button', { name: 'Settings' }).click();
  await page.getByRole('dialog').getByRole('textbox', { name: 'System prompt' }).fill('Be short.');
  await assertAccessible(page);
  await shoot(page, 'playground-settings-phone-light');
});

test('in a window of half the size, as zoom makes it, an error is in sight and no word covers another', {
  skip,
}, async (t) => {
  const page = await openPage(t, gateway, path);
  await page.setViewportSize({ width: 720, height: 450 });
  await choose(page, 'fast');
  for (let asked = 1; asked <= 3; asked += 1) {
    await ask(page, 'Hello');
    await page
      .getByText('Mock answer to: Hello')
      .nth(asked - 1)
      .waitFor();
  }
  await choose(page, 'down');
  await ask(page, 'Are you there?');
  const error = page.getByRole('alert').filter({ hasText: 'down for maintenance' });
  await error.waitFor();
  await page.getByRole('button', { name: 'Regenerate' }).last().waitFor();
  const message = page.getByRole('textbox', { name: 'Message' });
  const [ended, begins] = [(await error.boundingBox())!, (await message.boundingBox())!];
  assert.ok(ended.y + ended.height <= begins.y, `${ended.y + ended.height} is behind ${begins.y}`);
  for (const width of [360, 640, 720, 768, 1024, 1280]) {
    await page.setViewportSize({ width, height: 800 });
    const covered = await message.evaluate((field) => {
      const places = [...field.nextElementSibling!.querySelectorAll('button, span')]
        .filter((one) => !one.parentElement!.matches('button'))
        .map((one) => one.getBoundingClientRect())
        .filter((place) => place.width > 0);
      return places.filter((one) =>
        places.some((other) => one !== other && one.left < other.left && one.right > other.left),
      ).length;
    });
    assert.equal(covered, 0, `${width} px`);
  }
});

test('a link that names a model begins a conversation with it', { skip }, async (t) => {
  const page = await openPage(t, gateway, path);
  await choose(page, 'fast');
  await ask(page, 'Hello');
  await page.getByText('Mock answer to: Hello').waitFor();
  await page.goto(`${path}?model=slow`);
  await page.getByRole('button', { name: 'Model: slow' }).waitFor();
  assert.equal(await page.getByText('Mock answer to: Hello').count(), 0);
});

test('an operator whose key is revoked meanwhile is told so, and not asked for another login', { skip }, async (t) => {
  const headers = { authorization: `Bearer ${adminKey}` };
  const made = await gateway.fetch('/admin/v1/keys', { headers, json: { account: 'dev', name: 'brief' } });
  const { id } = (await made.json()) as { id: string };
  const page = await openPage(t, gateway, `${path}?key=${id}&model=fast`);
  await page.getByRole('button', { name: 'Key to use: dev · brief' }).waitFor();
  assert.equal((await gateway.fetch(`/admin/v1/keys/${id}/revoke`, { headers, method: 'POST' })).status, 200);
  await ask(page, 'Hello');
  await page.getByText('The API key no longer works: it was revoked or removed.').waitFor();
  assert.equal(await page.getByRole('dialog').count(), 0);
});

test('the holder of a key talks with that key alone', { skip }, async (t) => {
  const page = await openPage(t, gateway, '/account/playground', { login: { key: testKey } });
  await choose(page, 'fast');
  await ask(page, 'Hello');
  await page.getByText('Mock answer to: Hello').waitFor();
  assert.equal(await page.getByRole('button', { name: /^Key to use/ }).count(), 0);
});
