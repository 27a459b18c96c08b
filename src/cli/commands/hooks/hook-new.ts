import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CommandFailed } from '../../command-failed.ts';
import { print } from '../../print.ts';

/** `culvert hooks new`: a module that runs as it is, and its test. */
export async function newHook(name: string, { folder }: { folder: string }): Promise<number> {
  if (!/^[A-Za-z][\w-]{0,62}$/.test(name))
    throw new CommandFailed(`'${name}' is not a name for a hook. Use letters, digits, _ and -, such as team-rules.`, 2);
  const files = [
    [join(folder, `${name}.ts`), skeleton],
    [join(folder, `${name}.test.ts`), testOf(name)],
  ] as const;
  const taken = files.find(([file]) => existsSync(file));
  if (taken !== undefined) throw new CommandFailed(`${taken[0]} already exists and was left as it is.`);
  mkdirSync(folder, { recursive: true });
  for (const [file, text] of files) writeFileSync(file, text);
  print(`Wrote ${files.map(([file]) => file).join(' and ')}. Put this into culvert.yaml:

hooks:
  ${name}:
    module: ./${files[0][0]}

Then: culvert hooks test ${name} --body request.json
Its test: node --test ${files[1][0]}
Types for your editor: npm install --save-dev culvert-gateway`);
  return 0;
}

const skeleton = `import type { Hooks } from 'culvert-gateway/hooks';

// docs/hooks.md lists what each function gets and may reply with. A function without a reply changes nothing.
export default {
  version: 1,

  onRequest({ texts, caller }) {
    if (texts.some(({ text }) => text.includes('internal only'))) {
      return { refuse: 'Texts that are marked "internal only" stay here.' };
    }
    return { tag: caller.account };
  },

  onSettled({ requestId, costUsd }) {
    if (costUsd !== null && costUsd > 1) console.log(\`\${requestId} cost \${costUsd} USD\`);
  },
} satisfies Hooks;
`;

function testOf(name: string): string {
  return `import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { HookRequest } from 'culvert-gateway/hooks';
import hooks from './${name}.ts';

const request = (text: string): HookRequest => ({
  requestId: 'req_1',
  endpoint: 'chat',
  model: 'smart',
  caller: { account: 'team', plan: 'default', keyId: 'key_1', keyName: 'laptop' },
  texts: [{ kind: 'user', text }],
  unread: 0,
  headers: {},
});

test('it tags requests with their account', () => {
  assert.deepEqual(hooks.onRequest(request('Hello')), { tag: 'team' });
});

test('it refuses texts that must stay here', () => {
  assert.ok('refuse' in hooks.onRequest(request('This is internal only.')));
});
`;
}
