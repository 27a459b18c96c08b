import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import type { McpServerReply } from '../../../../src/admin/entries/mcp-server-shown.ts';
import { mcpServers } from '../../api/entries.ts';
import { call } from '../../api/request.ts';
import { Input } from '../../parts/controls.tsx';
import { plural } from '../../parts/format.ts';
import { ActionForm } from '../../parts/forms/action-form.tsx';
import { useFields } from '../../parts/forms/fields.ts';
import { Field } from '../../parts/forms/form.tsx';
import { NamesInput } from '../../parts/forms/names-input.tsx';
import { listIn } from '../../parts/forms/typed.ts';
import { toast } from '../../parts/toast.tsx';

const blank = { name: '', url: '', token: '', allow: '', deny: '' };

export function AddMcpServer({ onAdded }: { onAdded: () => void }) {
  const client = useQueryClient();
  const navigate = useNavigate();
  const [fields, field] = useFields(blank);
  const add = useMutation({
    async mutationFn() {
      const { name } = await call<McpServerReply>('POST', mcpServers.path, { body: bodyOf(fields) });
      // It is there now, whatever the test says; its page has a button that tests again.
      return call<McpServerReply>('POST', `${mcpServers.addressOf(name)}/test`).catch(() => ({ name, tools: null }));
    },
    async onSuccess({ name, tools }) {
      await mcpServers.refresh(client);
      toast(tools?.length ? `${name} was added. It has ${plural(tools.length, 'tool')}.` : `${name} was added.`);
      onAdded();
      void navigate({ to: `/dashboard/mcp-servers/${encodeURIComponent(name)}` });
    },
  });
  return (
    <ActionForm by={add} action="Add MCP server" disabled={fields.name.trim() === '' || fields.url.trim() === ''}>
      <Field name="name" label="Name" hint="The names of its tools begin with it, as in tickets__search.">
        <Input spellCheck={false} {...field('name')} />
      </Field>
      <Field name="url" label="URL">
        <Input inputMode="url" spellCheck={false} placeholder="https://…/mcp" {...field('url')} />
      </Field>
      <Field name="headers" label="Token" hint="Sent as Authorization: Bearer. Leave it empty to log in afterwards.">
        <Input type="password" autoComplete="off" placeholder="None" {...field('token')} />
      </Field>
      <div className="grid gap-4 sm:grid-cols-2">
        <Field name="tools.allow" label="Offered tools" hint="* matches any characters.">
          <NamesInput placeholder="All" {...field('allow')} />
        </Field>
        <Field name="tools.deny" label="Tools not offered">
          <NamesInput placeholder="None, or delete_*" {...field('deny')} />
        </Field>
      </div>
    </ActionForm>
  );
}

function bodyOf({ name, url, token, allow, deny }: typeof blank) {
  const tools = { ...listed('allow', allow), ...listed('deny', deny) };
  return {
    name: name.trim(),
    url: url.trim(),
    ...(token.trim() !== '' && { headers: { authorization: `Bearer ${token.trim()}` } }),
    ...(Object.keys(tools).length > 0 && { tools }),
  };
}

function listed(name: string, text: string): Record<string, string[]> {
  const globs = listIn(text, ',');
  return globs.length === 0 ? {} : { [name]: globs };
}
