// Conditions of all rules for one release, and what follows from them: for one device, for all devices with
// the same fields, and for the labels that a decision needs.

import type { RuleReason } from '../../../contract/explanation.ts';
import type { SnapshotRelease } from '../serving-snapshot.ts';
import type { RequestFields } from '../targeting.ts';
import type {
  Condition,
  DecisionRule,
  Device,
  DeviceCondition,
  FieldCondition,
} from './decision-rule.ts';

/**
 * Condition with its rule. `on` repeats that of the condition: conditions are objects of several shapes,
 * requirements are of one shape, and a field is read faster from objects of one shape.
 */
export type Requirement =
  | { readonly rule: DecisionRule; readonly on: 'fields'; readonly condition: FieldCondition }
  | { readonly rule: DecisionRule; readonly on: 'device'; readonly condition: DeviceCondition };

/** Which of the devices with the same fields a release can be offered to. */
export type Audience = 'all' | 'some' | 'none';

const NO_REQUIREMENTS: readonly Requirement[] = [];

/** Compiles a release with all rules, in their order. */
export function compileRequirements(
  release: SnapshotRelease,
  rules: readonly DecisionRule[],
): readonly Requirement[] {
  const requirements: Requirement[] = [];
  for (const rule of rules) {
    for (const condition of rule.conditions(release)) {
      requirements.push(requirementOf(rule, condition));
    }
  }
  return requirements.length === 0 ? NO_REQUIREMENTS : requirements;
}

/** Returns the first rule that rules out the release for the device; undefined if the device may have it. */
export function firstUnmet(
  requirements: readonly Requirement[],
  fields: RequestFields,
  device: Device,
): DecisionRule | undefined {
  for (let index = 0; index < requirements.length; index++) {
    const requirement = requirements[index] as Requirement;
    const fits =
      requirement.on === 'fields'
        ? requirement.condition.fits(fields)
        : fitsDevice(requirement.condition, device);
    if (!fits) return requirement.rule;
  }
  return undefined;
}

function fitsDevice(condition: DeviceCondition, device: Device): boolean {
  const { slice } = device;
  if (slice === undefined) return condition.fits(device);
  return condition.fitsSlice?.(slice) === true;
}

/** Returns which of the devices with these fields the release can be offered to. */
export function audienceOf(requirements: readonly Requirement[], fields: RequestFields): Audience {
  let audience: Audience = 'all';
  for (const { on, condition } of requirements) {
    if (on === 'device') audience = 'some';
    else if (!condition.fits(fields)) return 'none';
  }
  return audience;
}

/** Returns the reason of the first unmet rule if it is the same for every device with these fields. */
export function commonReason(
  requirements: readonly Requirement[],
  fields: RequestFields,
): RuleReason | undefined {
  for (const { rule, on, condition } of requirements) {
    if (on === 'device') return undefined;
    if (!condition.fits(fields)) return rule.reason;
  }
  return undefined;
}

/** Adds the label keys that the requirements read. Usually there are none, and no set is created. */
export function withLabelKeys(
  keys: Set<string> | undefined,
  requirements: readonly Requirement[],
): Set<string> | undefined {
  let all = keys;
  for (const { on, condition } of requirements) {
    if (on === 'fields') continue;
    for (const key of condition.labelKeys) {
      all ??= new Set();
      all.add(key);
    }
  }
  return all;
}

function requirementOf(rule: DecisionRule, condition: Condition): Requirement {
  return condition.on === 'fields'
    ? { rule, on: 'fields', condition }
    : { rule, on: 'device', condition };
}
