/** Settings for programs that call Culvert, to paste. */
interface Client {
  id: string;
  title: string;
  steps: readonly { instruction: string; text: string }[];
}

const setKey = { instruction: 'Set your key once', text: 'export CULVERT_API_KEY=…   # the secret of your key' };

/** `origin` without a slash at its end; `model` is one that the key may use. */
export function clientsFor(origin: string, model: string): Client[] {
  return [...programs(origin, model), ...assistants(origin, model)];
}

function programs(origin: string, model: string): Client[] {
  const name = JSON.stringify(model);
  return [
    {
      id: 'curl',
      title: 'curl',
      steps: [
        setKey,
        {
          instruction: 'Send a request',
          text: `curl ${origin}/v1/chat/completions \\
  -H "Authorization: Bearer $CULVERT_API_KEY" \\
  -H 'Content-Type: application/json' \\
  -d '{"model": ${name.replaceAll("'", "'\\''")}, "messages": [{"role": "user", "content": "Hello"}]}'`,
        },
      ],
    },
    {
      id: 'python',
      title: 'Python',
      steps: [
        setKey,
        {
          instruction: 'pip install openai',
          text: `import os
from openai import OpenAI

client = OpenAI(base_url="${origin}/v1", api_key=os.environ["CULVERT_API_KEY"])
answer = client.chat.completions.create(
    model=${name},
    messages=[{"role": "user", "content": "Hello"}],
)
print(answer.choices[0].message.content)`,
        },
      ],
    },
    {
      id: 'typescript',
      title: 'TypeScript',
      steps: [
        setKey,
        {
          instruction: 'npm install openai',
          text: `import OpenAI from 'openai';

const client = new OpenAI({ baseURL: '${origin}/v1', apiKey: process.env.CULVERT_API_KEY });
const stream = await client.chat.completions.create({
  model: ${name},
  stream: true,
  messages: [{ role: 'user', content: 'Hello' }],
});
for await (const chunk of stream) process.stdout.write(chunk.choices[0]?.delta?.content ?? '');`,
        },
      ],
    },
  ];
}

function assistants(origin: string, model: string): Client[] {
  const name = JSON.stringify(model);
  return [
    {
      id: 'claude-code',
      title: 'Claude Code',
      steps: [
        {
          instruction: 'In a shell',
          text: `export ANTHROPIC_BASE_URL=${origin}
export ANTHROPIC_AUTH_TOKEN=…   # the secret of your key
claude --model ${/^[\w./:@-]+$/.test(model) ? model : `'${model.replaceAll("'", "'\\''")}'`}`,
        },
        {
          instruction: 'Or permanently, in ~/.claude/settings.json',
          text: JSON.stringify(
            {
              env: {
                ANTHROPIC_BASE_URL: origin,
                ANTHROPIC_AUTH_TOKEN: 'sk-cv-…',
                ANTHROPIC_MODEL: model,
                CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
              },
            },
            null,
            2,
          ),
        },
      ],
    },
    {
      id: 'codex',
      title: 'Codex',
      steps: [
        setKey,
        {
          instruction: 'In ~/.codex/config.toml',
          text: `model = ${name}
model_provider = "culvert"

[model_providers.culvert]
name = "Culvert"
base_url = "${origin}/v1"
wire_api = "responses"
env_key = "CULVERT_API_KEY"`,
        },
      ],
    },
    {
      id: 'opencode',
      title: 'opencode',
      steps: [
        setKey,
        {
          instruction: 'In opencode.json',
          text: JSON.stringify(
            {
              $schema: 'https://opencode.ai/config.json',
              model: `culvert/${model}`,
              provider: {
                culvert: {
                  npm: '@ai-sdk/openai-compatible',
                  name: 'Culvert',
                  options: { baseURL: `${origin}/v1`, apiKey: '{env:CULVERT_API_KEY}' },
                  models: { [model]: { name: model } },
                },
              },
            },
            null,
            2,
          ),
        },
      ],
    },
  ];
}
