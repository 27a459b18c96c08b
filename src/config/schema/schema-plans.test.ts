import assert from 'node:assert/strict';
import { test } from 'node:test';
import { filePlans, isBuiltInPlan, plansSchema, withBuiltInPlan, writtenPlans } from './schema-plans.ts';

test('the built-in plan is known in another process too, and its limits begin with the first stored plan there', () => {
  const plans = withBuiltInPlan(structuredClone(writtenPlans(plansSchema.parse({}))));
  assert.ok(isBuiltInPlan(plans.default));
  assert.deepEqual([filePlans(plans, 0).default?.rpm, filePlans(plans, 1).default?.rpm], ['off', 60]);
  const written = plansSchema.parse({ default: { rpm: 'off', storage: 'off' } });
  assert.ok(!isBuiltInPlan(withBuiltInPlan(structuredClone(writtenPlans(written))).default));
});
