import { mcpServers } from '../../api/entries.ts';
import { plural } from '../../parts/format.ts';
import { useFields } from '../../parts/forms/fields.ts';
import { Field } from '../../parts/forms/form.tsx';
import { NamesInput } from '../../parts/forms/names-input.tsx';
import { listIn } from '../../parts/forms/typed.ts';
import { AddService } from '../../parts/stored/add-service.tsx';

export function AddMcpServer({ onAdded }: { onAdded: () => void }) {
  const [{ allow, deny }, field] = useFields({ allow: '', deny: '' });
  const tools = { ...listed('allow', allow), ...listed('deny', deny) };
  return (
    <AddService
      entries={mcpServers}
      list="/dashboard/mcp-servers"
      action="Add MCP server"
      found={({ tools: known }) => (known.length === 0 ? null : plural(known.length, 'tool'))}
      hints={{
        name: 'The names of its tools begin with it, as in tickets__search.',
        token: 'Sent as Authorization: Bearer. Leave it empty to log in afterwards.',
      }}
      placeholder="https://…/mcp"
      rest={Object.keys(tools).length === 0 ? {} : { tools }}
      onAdded={onAdded}
    >
      <div className="grid gap-4 sm:grid-cols-2">
        <Field name="tools.allow" label="Offered tools" hint="* matches any characters.">
          <NamesInput placeholder="All" {...field('allow')} />
        </Field>
        <Field name="tools.deny" label="Tools not offered">
          <NamesInput placeholder="None, or delete_*" {...field('deny')} />
        </Field>
      </div>
    </AddService>
  );
}

function listed(name: string, text: string): Record<string, string[]> {
  const globs = listIn(text, ',');
  return globs.length === 0 ? {} : { [name]: globs };
}
