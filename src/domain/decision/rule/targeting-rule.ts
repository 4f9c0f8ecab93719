// The targeting rule: a release is for the devices whose fields and labels match the publisher's targeting.

import {
  type CompiledTargeting,
  compileTargeting,
  matchesFields,
  matchesLabels,
  type RequestFields,
  unmetConditions,
} from '../targeting.ts';
import type { Version } from '../version.ts';
import type {
  Condition,
  DecisionRule,
  Device,
  DeviceCondition,
  FieldCondition,
} from './decision-rule.ts';

export const TARGETING_RULE: DecisionRule<'not-targeted'> = {
  reason: 'not-targeted',

  conditions({ targets }) {
    const targeting = compileTargeting(targets);
    const conditions: Condition[] = [];
    if (targeting.fieldTests.length > 0) conditions.push(new FieldsMatch(targeting));
    if (targeting.labelTests.length > 0) conditions.push(new LabelsMatch(targeting));
    return conditions;
  },

  sentence({ targets }, fields, { labels }) {
    const unmet = unmetConditions(targets, fields, labels).join('; ');
    return `It is targeted, and this device does not match: ${unmet}.`;
  },
};

class FieldsMatch implements FieldCondition {
  readonly on = 'fields';
  readonly versions: readonly Version[];
  private readonly tests: CompiledTargeting['fieldTests'];

  constructor({ versions, fieldTests }: CompiledTargeting) {
    this.versions = versions;
    this.tests = fieldTests;
  }

  fits(fields: RequestFields): boolean {
    return matchesFields(this.tests, fields);
  }
}

class LabelsMatch implements DeviceCondition {
  readonly on = 'device';
  readonly labelKeys: readonly string[];
  private readonly tests: CompiledTargeting['labelTests'];

  constructor({ labelKeys, labelTests }: CompiledTargeting) {
    this.labelKeys = labelKeys;
    this.tests = labelTests;
  }

  fits({ labels }: Device): boolean {
    return matchesLabels(this.tests, labels);
  }
}
