import type { ReactNode } from 'react';
import { Button } from '../button.tsx';
import { Form } from './form.tsx';

interface ActionFormProps {
  /** Mutation that sends the form. */
  by: { error: Error | null; isPending: boolean; mutate: () => void };
  /** On the button that sends it; null: the reader may not. */
  action: string | null;
  look?: 'main' | 'danger';
  disabled?: boolean;
  /** Another person's change, shown in place of the error. While it is shown, the form cannot be sent. */
  conflict?: ReactNode;
  /** Adds a button that closes the form. */
  onCancel?: () => void;
  children: ReactNode;
}

/** A form that does one thing. One that is dangerous is sent by its button alone: Enter may be pressed once too often. */
export function ActionForm(props: ActionFormProps) {
  const { by, action, look = 'main', disabled = false, conflict = false, onCancel, children } = props;
  const conflicts = conflict !== false;
  const send = () => by.mutate();
  return (
    <Form
      error={conflicts ? null : by.error}
      onSubmit={look === 'danger' ? () => {} : send}
      footer={
        <>
          {onCancel !== undefined && <Button onClick={onCancel}>Cancel</Button>}
          {action !== null && (
            <Button
              {...(look === 'danger' ? { onClick: send } : { type: 'submit' })}
              look={look}
              busy={by.isPending}
              disabled={disabled || conflicts}
            >
              {action}
            </Button>
          )}
        </>
      }
    >
      {conflict}
      {children}
    </Form>
  );
}
