import { useQuery } from '@tanstack/react-query';
import { useId, useState } from 'react';
import type { McpServerReply } from '../../../../src/admin/entries/mcp-server-shown.ts';
import { type Caller, useCaller } from '../../api/caller.ts';
import { get } from '../../api/request.ts';
import { useMay } from '../../api/rights.ts';
import { Code } from '../../parts/code.tsx';
import { Select, TextArea } from '../../parts/controls.tsx';
import { ErrorNote, Note } from '../../parts/error-note.tsx';
import { Field } from '../../parts/forms/form.tsx';
import { FieldProblem, jsonProblem, objectIn } from '../../parts/forms/typed.ts';
import { NoKey, SpeaksAs } from '../../parts/speaks-as.tsx';
import { Trial } from '../playground/trial.tsx';
import { useCall } from '../playground/use-call.ts';
import { exampleOf } from '../reference/fields-of.ts';
import type { Schema } from '../reference/open-api.ts';

interface Tool {
  name: string;
  description?: string;
  inputSchema: Schema;
  annotations?: { readOnlyHint?: boolean };
}

interface ToolAnswer {
  content?: { type: string; text?: string }[];
  structuredContent?: unknown;
  isError?: boolean;
}

/** Calls a tool of the server with a key. Not for people who make no calls. */
export function TryTool({ server }: { server: McpServerReply }) {
  const callers = useCaller();
  const may = useMay('calls', 'write');
  const title = useId();
  if (!may || server.tools.length === server.hidden.length) return null;
  const { caller, error } = callers;
  return (
    <section aria-labelledby={title} className="flex min-w-0 flex-col gap-3">
      <div className="flex flex-wrap items-center gap-2">
        <h2 id={title} className="min-w-0 flex-1 font-medium text-sm">
          Try a tool
        </h2>
        <SpeaksAs {...callers} />
      </div>
      {error !== null && <ErrorNote error={error} />}
      {caller === null && <NoKey />}
      {caller != null && <Tools key={caller.key.id} server={server.name} caller={caller} />}
    </section>
  );
}

function Tools({ server, caller }: { server: string; caller: Caller }) {
  const { data, error, refetch } = useQuery({
    queryKey: ['/v1/mcp/tools', caller.key.id],
    queryFn: async ({ signal }) => (await get<{ tools: Tool[] }>('/v1/mcp/tools', {}, signal, caller.headers)).tools,
    staleTime: 60_000,
  });
  if (error !== null) return <ErrorNote error={error} retry={() => void refetch()} />;
  const tools = data?.filter(({ name }) => name.startsWith(`${server}__`));
  return tools === undefined ? null : <Call tools={tools} caller={caller} />;
}

function Call({ tools, caller }: { tools: readonly Tool[]; caller: Caller }) {
  const [chosen, setChosen] = useState('');
  const [typed, setTyped] = useState<string | null>(null);
  const call = useCall<ToolAnswer>(caller, (response) => response.json());
  const tool = tools.find(({ name }) => name === chosen) ?? tools[0];
  const text = typed ?? JSON.stringify(exampleOf({ paths: {} }, tool?.inputSchema ?? {}), null, 2);
  if (tool === undefined) return <p className="text-muted">This key may not use the tools of this server.</p>;
  const fault = jsonProblem(text);
  const body = () => {
    const sent = objectIn(text);
    if (sent === null) throw new FieldProblem('arguments', 'Expected a JSON object.');
    return { tool: tool.name, arguments: sent };
  };
  return (
    <Trial
      caller={caller}
      call={call}
      action="Call the tool"
      disabled={fault !== null}
      onRun={() => call.run('/v1/mcp/call', body)}
      hint="The result appears here."
      result={call.answer === null ? null : <Result answer={call.answer} />}
    >
      <Field
        name="tool"
        label="Tool"
        hint={tool.annotations?.readOnlyHint === true ? 'It only reads.' : 'It may change something there.'}
      >
        <Select
          value={tool.name}
          onChange={({ target }) => {
            setChosen(target.value);
            setTyped(null);
          }}
        >
          {tools.map(({ name }) => (
            <option key={name}>{name}</option>
          ))}
        </Select>
      </Field>
      {tool.description !== undefined && (
        <p className="text-muted text-sm [overflow-wrap:anywhere]">{tool.description}</p>
      )}
      <Field name="arguments" label="Arguments, as JSON" fault={fault}>
        <TextArea
          rows={5}
          spellCheck={false}
          className="field-sizing-content max-h-96 min-h-20 w-full font-mono text-xs"
          value={text}
          onChange={({ target }) => setTyped(target.value)}
        />
      </Field>
    </Trial>
  );
}

function Result({ answer }: { answer: ToolAnswer }) {
  const { content = [], structuredContent, isError } = answer;
  const others = content.filter(({ type }) => type !== 'text');
  return (
    <div className="flex min-w-0 flex-col gap-3">
      {isError === true && <Note tone="bad">The tool says that it failed.</Note>}
      {content.map(({ text }, at) =>
        // biome-ignore lint/suspicious/noArrayIndexKey: parts have no identity but their place.
        text === undefined ? null : <Code key={at} text={text} label="Result" wrap />,
      )}
      {structuredContent !== undefined && (
        <Code text={JSON.stringify(structuredContent, null, 2)} label="Structured result" wrap />
      )}
      {others.length > 0 && <Code text={JSON.stringify(others, null, 2)} label="Other parts" wrap />}
    </div>
  );
}
