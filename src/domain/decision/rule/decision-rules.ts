// The list of decision rules.

import type { RuleReason } from '../../../contract/reason.ts';
import { COHORT_RULE } from './cohort-rule.ts';
import type { DecisionRule } from './decision-rule.ts';
import { TARGETING_RULE } from './targeting-rule.ts';

/** One rule for each reason that a rule can have. */
const RULES: { readonly [Reason in RuleReason]: DecisionRule<Reason> } = {
  'not-targeted': TARGETING_RULE,
  'outside-cohort': COHORT_RULE,
};

/** All rules. The first one that a device does not fulfil names the reason. */
export const DECISION_RULES: readonly DecisionRule[] = Object.values(RULES);
