"""Faults that users reported, here and in public threads: the test of each, or why it stays."""

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]

MENDED = {
    "integrations/trl/test_script_gate.py": {
        "gate by order": "test_both_orders_of_the_functions_train_the_same_policy",
        "threshold": "test_threshold_defines_solved",
    },
    "paretopo/config/test_weights.py": {
        "weight 0 under any method": "test_zero_weight_has_no_effect_under_any_method",
        "--set weight over --method": "test_given_weight_overrides_equal_weights_of_a_method",
        "weights that a method ignores": "test_a_method_that_does_not_use_weights_says_so_once",
    },
    "paretopo/run/test_resuming.py": {
        "files changed at resume": (
            "test_a_run_does_not_go_on_with_other_files_unless_that_is_accepted"
        ),
        "full disk": "test_the_manifest_names_a_full_disk",
        "report runs/*": "test_a_report_on_several_leaves_out_folders_without_records",
        "empty folders": "test_a_refused_run_leaves_no_folder",
        "misspelt measure": "test_a_misspelt_measure_is_named",
        "byte order mark": "test_files_may_begin_with_a_byte_order_mark",
        "other words at resume": "test_a_tiny_model_is_not_resumed_with_other_words",
        "lm_head.weight missing": "test_tied_weights_are_not_called_missing",
        "run folder from anywhere": "test_a_run_finds_its_files_from_any_folder",
    },
    "paretopo/test_reported_faults.py": {
        "openrlhf.lora_rank": "test_a_key_of_another_back_end_is_refused",
    },
    "paretopo/rewards/test_own.py": {
        "arguments of TRL": "test_functions_are_called_as_trl_calls_them",
        "words of demonstrated calls": (
            "test_a_tiny_model_knows_the_arguments_of_demonstrated_calls_and_all_messages"
        ),
        "wrong number of rewards (trl#6533)": (
            "test_a_reward_that_fails_names_itself_and_the_prompt"
        ),
    },
    "integrations/trl/test_reward_shapes.py": {
        "chat completions are messages": "test_functions_of_public_projects_give_the_same_numbers",
    },
    "paretopo/rewards/test_calls.py": {
        "signal.alarm, math-verify": "test_calls_run_in_the_main_thread_where_alarms_work",
        "semaphores, concurrent async": (
            "test_asynchronous_functions_run_together_in_one_loop_that_lasts"
        ),
        "partial, lambda, imported": "test_a_reward_is_whatever_can_be_called_and_has_the_name",
        "retries": "test_a_call_that_fails_is_tried_again",
        "skip a failing call": "test_the_last_failure_stops_the_run_or_leaves_the_objective_out",
        "packages": "test_functions_come_out_of_packages_with_parameters",
        "several components": "test_one_function_measures_several_objectives",
        "a hang (verl#5635)": "test_a_call_that_hangs_is_interrupted",
    },
    "paretopo/tasks/test_probe.py": {
        "found too late": "test_functions_that_fit_are_called_once_with_a_whole_group",
        "calls without a tool, dollars without a price": (
            "test_measures_that_cannot_differ_are_named"
        ),
        "signal.alarm on verl": ("test_on_verl_a_function_that_needs_the_main_thread_is_refused"),
    },
    "paretopo/test_session.py": {
        "evaluation sets": "test_kinds_that_do_not_count_are_reported_only",
        "None in means": "test_means_leave_out_rollouts_to_which_an_objective_does_not_apply",
        "constant in every group": (
            "test_an_objective_that_never_differs_is_named_at_the_first_step"
        ),
        "never applies": "test_an_objective_that_applies_to_no_held_out_question_is_named",
    },
    "integrations/trl/test_run.py": {
        "TRL's curves of a placeholder": "test_curves_are_the_records",
        "Ctrl-C during an evaluation": "test_ctrl_c_while_it_generates_keeps_the_last_step",
        "a longer run": "test_a_finished_run_becomes_longer",
        "resume loses state (trl#3247, OpenRLHF#1103)": (
            "test_killed_and_resumed_equals_uninterrupted"
        ),
    },
    "paretopo/run/test_report.py": {
        "n and error bars": "test_means_have_a_number_and_an_error_and_noise_is_no_change",
        "paired test": "test_runs_on_the_same_questions_are_compared_by_question",
        "pairs of eight objectives": ("test_a_report_has_every_objective_with_direction_and_unit"),
        "panel without a stage 1": "test_a_run_of_one_stage_has_no_boundary",
    },
    "paretopo/run/test_preferences_report.py": {
        "preferences, four objectives": "test_each_preference_is_a_row_of_table_page_and_picture",
    },
    "integrations/trl/test_script.py": {
        "a script fails": "test_a_reward_that_breaks_names_itself_and_prompts",
        "negative reward_weights": "test_a_negative_weight_is_a_cost_as_on_trl",
        "names of lambdas": "test_functions_are_named_and_may_measure_several_objectives",
        "early stopping": "test_early_stopping_reads_the_hypervolume",
        "eval = training rows": "test_held_out_prompts_that_are_trained_on_are_named",
        "get_reward as a mapping": "test_an_environment_may_measure_several_objectives",
        "several evaluation sets": "test_held_out_questions_are_one_data_set",
    },
    "paretopo/config/test_gate.py": {
        "unpassable gate": "test_unpassable_gate_warns_at_the_start",
    },
    "paretopo/cli/test_cli.py": {
        "how to go on after a failure": (
            "test_a_failing_reward_is_shown_without_the_trainers_frames"
        ),
    },
    "integrations/trl/test_own_tools.py": {
        "failed tool calls as a measure": "test_own_tools_are_executed_and_counted",
    },
    "integrations/agents/test_of_tasks.py": {
        "failed calls of agents": "test_failed_calls_of_functions_are_counted",
        "agents that do not count them": (
            "test_an_agent_that_does_not_count_its_failed_calls_is_refused"
        ),
    },
    "integrations/trl/test_parts.py": {
        "texts and lists as answers": "test_answers_may_be_texts_and_lists_in_one_file",
    },
    "integrations/trl/test_loaded_models.py": {
        "LoRA in paretopo train on TRL": "test_gguf_model_with_adapters_trains_and_evaluates",
    },
    "paretopo/data/test_schema.py": {
        "evaluate on rows of a training": "test_invalid_row_is_refused_by_file_and_line",
    },
    "paretopo/test_preference.py": {
        "evaluate --preference": "test_sampled_weights_contain_the_grid",
    },
    "integrations/huggingface/test_prompts.py": {
        "longest prompt": "test_longer_prompts_are_left_out_and_counted",
        "longest prompt on OpenRLHF and verl": "test_openrlhf_and_verl_get_no_longer_prompts",
        "a longest prompt for own files": "test_openrlhf_refuses_a_limit_for_files_of_its_own",
    },
    "integrations/test_reward_paths.py": {
        "reward functions on every trainer": "test_every_adapter_calls_functions_of_all_kinds",
    },
}

AS_THEY_ARE = {
    "evaluate on training questions": "refused: it would measure what is memorised",
    "--samples for a run's own task": "refused: a held-out question has one answer, as in training",
    "filtered groups drawn again on TRL": "TRL draws the batch; the others have dynamic_sampling",
    "an objective that stops differing": (
        "only the first step warns, as a solved task does so, too; steps.jsonl has `differs`"
    ),
    "correlation of objectives": "not recorded; steps.jsonl has `differs` and `error` of each",
    "NaN as 'does not apply'": "refused with the prompt: None says it; NaN is most often a fault",
    "tensor (n, 1), generator": "refused with the length that was expected",
    "adapters for SkyRL, rLLM, ART, Tinker": "not ours: docs/own_loop.md has the calls",
}


@pytest.mark.parametrize("path", MENDED)
def test_the_tests_of_mended_faults_exist(path):
    text = (TESTS / path).read_text(encoding="utf-8")
    known = set(re.findall(r"^def (test_\w+)\(", text, re.MULTILINE))
    assert {fault: name for fault, name in MENDED[path].items() if name not in known} == {}


def test_a_key_of_another_back_end_is_refused():
    from paretopo.config import ConfigError, loads

    with pytest.raises(ConfigError, match=r"LoRA is for every back end: model\.lora"):
        loads("[openrlhf]\nlora_rank = 8")
