import type { Callers } from '../../api/caller.ts';
import { fieldsOf, typeOf } from './fields-of.ts';
import { FieldsTable } from './fields-table.tsx';
import { answerOf, bodyOf, type Document, type Operation } from './open-api.ts';
import { TryIt } from './try-it.tsx';

interface OperationViewProps {
  document: Document;
  operation: Operation;
  callers: Callers;
}

/** One operation: its input, its answers, and a form that tries it. */
export function OperationView({ document, operation, callers }: OperationViewProps) {
  const { id, summary, description, parameters = [] } = operation;
  const body = bodyOf(operation);
  const answer = answerOf(operation);
  return (
    <article className="flex min-w-0 flex-col gap-4" aria-label={id}>
      <header className="flex flex-col gap-1 [overflow-wrap:anywhere]">
        <h2 className="font-mono text-sm">{id}</h2>
        {summary !== undefined && <p>{summary}</p>}
        {description !== undefined && <p className="text-muted text-sm">{description}</p>}
      </header>
      <TryIt document={document} operation={operation} callers={callers} />
      <FieldsTable
        title="Parameters"
        rows={parameters.map((parameter) => ({
          path: parameter.name,
          type: `${typeOf(document, parameter.schema ?? {})} in the ${parameter.in}`,
          required: parameter.required === true,
          description: parameter.description ?? '',
        }))}
      />
      {body !== null && <FieldsTable title="Body" rows={fieldsOf(document, body.schema)} />}
      {answer !== null && <FieldsTable title="Response" rows={fieldsOf(document, answer)} />}
    </article>
  );
}
