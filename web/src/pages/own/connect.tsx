import { useQuery } from '@tanstack/react-query';
import { modelsQuery, useCaller } from '../../api/caller.ts';
import { serverUrl } from '../../api/server-path.ts';
import { Code } from '../../parts/code.tsx';
import { useFilters } from '../../parts/filters.ts';
import { Choose } from '../../parts/forms/choose.tsx';
import { Page, Section } from '../../parts/page.tsx';
import { Tabs } from '../../parts/tabs.tsx';
import { clientsFor } from './clients.ts';

/** How programs and assistants use the key. */
export default function ConnectPage() {
  const [{ client = 'curl', model: chosenModel }, setFilters] = useFilters<'client' | 'model'>();
  const { caller } = useCaller();
  const { data } = useQuery(modelsQuery(caller));
  const chats = data?.filter(({ model_type }) => model_type === 'chat') ?? [];
  const model = chosenModel ?? chats[0]?.id ?? 'your-model';
  const clients = clientsFor(serverUrl, model);
  const opened = clients.find(({ id }) => id === client) ?? clients[0]!;
  return (
    <Page
      title="Connect"
      opened={opened.title}
      actions={
        <Choose
          label="Model"
          value={model}
          options={chats.map(({ id }) => ({ value: id, label: id }))}
          onValue={(value) => setFilters({ model: value })}
          className="w-52"
        />
      }
    >
      <p className="max-w-prose text-muted text-sm">
        <code className="font-mono text-ink">{serverUrl}/v1</code> is the base URL, and the secret of your key is the
        API key. These examples do not contain it: they read it from{' '}
        <code className="font-mono text-ink">CULVERT_API_KEY</code>.
      </p>
      <Tabs
        label="Client"
        value={opened.id}
        onValue={(value) => setFilters({ client: value })}
        tabs={clients.map(({ id, title, steps }) => ({
          value: id,
          label: title,
          content: () => (
            <>
              {steps.map(({ instruction, text }) => (
                <Section key={instruction} title={instruction}>
                  <Code text={text} label={instruction} />
                </Section>
              ))}
            </>
          ),
        }))}
      />
    </Page>
  );
}
