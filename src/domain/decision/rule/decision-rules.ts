// The list of decision rules.

import type { RuleReason } from '../../../contract/explanation.ts';
import { COHORT_RULE } from './cohort-rule.ts';
import type { DecisionRule } from './decision-rule.ts';
import { TARGETING_RULE } from './targeting-rule.ts';

/** One rule per reason. */
const RULES: { readonly [Reason in RuleReason]: DecisionRule<Reason> } = {
  'not-targeted': TARGETING_RULE,
  'outside-cohort': COHORT_RULE,
};

/** All rules. The first rule that a device does not meet gives the reason. */
export const DECISION_RULES: readonly DecisionRule[] = Object.values(RULES);
