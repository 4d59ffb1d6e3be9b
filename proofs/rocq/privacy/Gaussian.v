(* The integral of the Gaussian density, and the profile of N(mu, 1) against N(0, 1) in closed form. *)

From Coq Require Import Reals Psatz.
From Coquelicot Require Import Coquelicot.
From Privacy Require Import Densities.
Open Scope R_scope.

(* The distribution function of N(0, 1): that it is one is the theorem below. *)

Definition Phi (x : R) : R := 1 / 2 + RInt (gaussian 0) 0 x.

(* What mu-GDP promises at epsilon. *)
Definition gaussian_profile (mu epsilon : R) : R :=
  Phi (mu / 2 - epsilon / mu) - exp epsilon * Phi (- mu / 2 - epsilon / mu).

(* The square of the integral of exp(-t^2/2) up to x, and an integral over [0, 1] that vanishes, have a constant sum. *)

Definition bell (t : R) : R := exp (- t ^ 2 / 2).
Definition bell_up_to (x : R) : R := RInt bell 0 x.
Definition vanishing (x s : R) : R := exp (- x ^ 2 * (1 + s ^ 2) / 2) / (1 + s ^ 2).
Definition vanishing_part (x : R) : R := RInt (vanishing x) 0 1.

Lemma square_above s : 0 < 1 + s ^ 2.
Proof. generalize (pow2_ge_0 s). lra. Qed.

Lemma bell_continuous x : continuous bell x.
Proof. apply (ex_derive_continuous (V := R_NormedModule)). unfold bell. auto_derive. exact I. Qed.

Lemma bell_integrable a b : ex_RInt bell a b.
Proof. apply (ex_RInt_continuous (V := R_CompleteNormedModule)). intros. apply bell_continuous. Qed.

Lemma vanishing_integrable x a b : ex_RInt (vanishing x) a b.
Proof.
  apply (ex_RInt_continuous (V := R_CompleteNormedModule)). intros s _.
  apply (ex_derive_continuous (V := R_NormedModule)). unfold vanishing. auto_derive.
  generalize (square_above s). simpl. lra.
Qed.

Lemma bell_up_to_derivative x : is_derive bell_up_to x (bell x).
Proof.
  apply (is_derive_RInt (V := R_NormedModule) bell bell_up_to 0 x); [|apply bell_continuous].
  apply filter_forall. intros y. apply (RInt_correct (V := R_CompleteNormedModule)), bell_integrable.
Qed.

Lemma vanishing_derivative x s : is_derive (fun z => vanishing z s) x (- x * exp (- x ^ 2 * (1 + s ^ 2) / 2)).
Proof.
  assert (P := square_above s). unfold vanishing. auto_derive; [simpl in P; lra|].
  unfold Rminus, Rdiv. simpl. field. simpl in P. lra.
Qed.

Lemma vanishing_part_derivative x : is_derive vanishing_part x (- (bell x * bell_up_to x)).
Proof.
  assert (D : forall z s, Derive (fun u => vanishing u s) z = - z * exp (- z ^ 2 * (1 + s ^ 2) / 2))
    by (intros; apply is_derive_unique, vanishing_derivative).
  replace (- (bell x * bell_up_to x)) with (RInt (fun s => Derive (fun u => vanishing u s) x) 0 1).
  - apply (is_derive_RInt_param vanishing 0 1 x).
    + apply filter_forall. intros y s _. eexists. apply vanishing_derivative.
    + intros s _. apply continuity_2d_pt_ext with (fun u v => - u * exp (- u ^ 2 * (1 + v ^ 2) / 2)).
      { intros u v. now rewrite D. }
      apply continuity_2d_pt_mult; [apply continuity_2d_pt_opp, continuity_2d_pt_id1|].
      apply (continuity_1d_2d_pt_comp exp (fun u v => - u ^ 2 * (1 + v ^ 2) / 2)).
      { apply derivable_continuous_pt, derivable_pt_exp. }
      apply continuity_2d_pt_ext with (fun u v => - (u * u) * (1 + v * v) * / 2).
      { intros u v. simpl. field. }
      repeat first [ apply continuity_2d_pt_mult | apply continuity_2d_pt_plus | apply continuity_2d_pt_opp
                   | apply continuity_2d_pt_id1 | apply continuity_2d_pt_id2 | apply continuity_2d_pt_const ].
    + apply filter_forall. intros y. apply vanishing_integrable.
  - apply is_RInt_unique. apply (is_RInt_ext (fun s => scal (- bell x) (scal x (bell (x * s + 0))))).
    { intros s _. rewrite D. unfold scal, bell; simpl. unfold mult; simpl.
      replace (- x * exp (- (x * (x * 1)) * (1 + s * (s * 1)) / 2))
        with (- x * (exp (- (x * (x * 1)) / 2) * exp (- ((x * s + 0) * ((x * s + 0) * 1)) / 2))); [ring|].
      rewrite <- exp_plus. f_equal. f_equal. field. }
    replace (- (bell x * bell_up_to x)) with (scal (- bell x) (bell_up_to x))
      by (unfold scal; simpl; unfold mult; simpl; ring).
    apply (is_RInt_scal (V := R_NormedModule)). apply (is_RInt_comp_lin bell x 0 0 1).
    rewrite Rmult_0_r, Rmult_1_r, !Rplus_0_r. apply (RInt_correct (V := R_CompleteNormedModule)), bell_integrable.
Qed.

Lemma vanishing_part_at_0 : vanishing_part 0 = PI / 4.
Proof.
  apply is_RInt_unique. apply (is_RInt_ext (fun s => / (1 + s ^ 2))).
  { intros s _. unfold vanishing, Rdiv. replace (- 0 ^ 2 * (1 + s ^ 2) * / 2) with 0 by (simpl; field).
    now rewrite exp_0, Rmult_1_l. }
  replace (PI / 4) with (minus (atan 1) (atan 0))
    by (unfold minus, plus, opp; simpl; rewrite atan_1, atan_0; ring).
  apply (is_RInt_derive atan).
  - intros s _. apply is_derive_Reals. apply derivable_pt_lim_atan.
  - intros s _. apply (ex_derive_continuous (V := R_NormedModule)). auto_derive.
    generalize (square_above s). simpl. lra.
Qed.

Lemma constant_sum x : bell_up_to x ^ 2 + 2 * vanishing_part x = PI / 2.
Proof.
  set (h := fun y => bell_up_to y ^ 2 + 2 * vanishing_part y).
  assert (D : forall y, is_derive h y 0).
  { intros y. assert (A := bell_up_to_derivative y). assert (B := vanishing_part_derivative y).
    unfold h. evar_last.
    - apply @is_derive_plus; [apply (is_derive_pow bell_up_to 2 y _ A)|apply (is_derive_scal vanishing_part y 2 _ B)].
    - unfold plus, scal; simpl. unfold mult; simpl. ring. }
  assert (E : is_RInt (fun _ => 0) 0 x (minus (h x) (h 0))).
  { apply (is_RInt_derive h (fun _ => 0)); intros; [apply D|apply continuous_const]. }
  apply (is_RInt_unique (V := R_CompleteNormedModule)) in E. rewrite RInt_const in E.
  unfold minus, plus, opp, scal in E; simpl in E. unfold mult in E; simpl in E.
  assert (H0 : h 0 = PI / 2).
  { unfold h, bell_up_to. rewrite RInt_point, vanishing_part_at_0. unfold zero; simpl. field. }
  change (h x = PI / 2). lra.
Qed.

Lemma vanishing_part_bounds x : 1 < x -> 0 <= vanishing_part x <= exp (- x / 2).
Proof.
  intros X. assert (V : forall s, 0 <= vanishing x s <= exp (- x / 2)).
  { intros s. assert (P := square_above s). assert (1 <= 1 + s ^ 2) by (generalize (pow2_ge_0 s); lra).
    unfold vanishing. split.
    - apply Rmult_le_pos; [apply Rlt_le, exp_pos|now apply Rlt_le, Rinv_0_lt_compat].
    - apply Rle_trans with (exp (- x / 2) * 1); [|lra]. apply Rmult_le_compat.
      + apply Rlt_le, exp_pos.
      + now apply Rlt_le, Rinv_0_lt_compat.
      + apply Rlt_le, exp_increasing. simpl in *. nra.
      + rewrite <- Rinv_1. apply Rinv_le_contravar; lra. }
  split.
  - apply RInt_ge_0; [lra|apply vanishing_integrable|intros; apply V].
  - apply Rle_trans with (RInt (fun _ => exp (- x / 2)) 0 1).
    + apply RInt_le; [lra|apply vanishing_integrable|apply ex_RInt_const|intros; apply V].
    + rewrite RInt_const. unfold scal; simpl. unfold mult; simpl. lra.
Qed.

Lemma vanishing_part_vanishes : filterlim vanishing_part (Rbar_locally p_infty) (locally 0).
Proof.
  apply (is_lim_le_le_loc (fun _ => 0) (fun x => exp (- x / 2)) vanishing_part p_infty 0).
  - exists 1. intros x X. now apply vanishing_part_bounds.
  - apply is_lim_const.
  - apply (filterlim_comp _ _ _ Ropp (fun x => exp (x / 2)) _ (Rbar_locally m_infty)).
    + apply (filterlim_Rbar_opp p_infty).
    + apply exp_of_quotient_vanishes. lra.
Qed.

Lemma bell_up_to_limit : filterlim bell_up_to (Rbar_locally p_infty) (locally (sqrt (PI / 2))).
Proof.
  replace (sqrt (PI / 2)) with (sqrt (PI / 2 - 2 * 0)) by (f_equal; ring).
  apply filterlim_ext_loc with (fun x => sqrt (PI / 2 - 2 * vanishing_part x)).
  - exists 0. intros x X. rewrite <- (constant_sum x). replace (_ - _) with (bell_up_to x ^ 2) by ring.
    apply sqrt_pow2. apply RInt_ge_0; [lra|apply bell_integrable|]. intros. apply Rlt_le, exp_pos.
  - apply (filterlim_comp _ _ _ vanishing_part (fun v => sqrt (PI / 2 - 2 * v)) _ (locally 0)).
    + apply vanishing_part_vanishes.
    + apply (ex_derive_continuous (V := R_NormedModule) (fun v => sqrt (PI / 2 - 2 * v))). auto_derive.
      generalize PI_RGT_0. lra.
Qed.

(* The density of N(0, 1). *)

Lemma root_of_2_PI : sqrt (PI / 2) / sqrt (2 * PI) = 1 / 2.
Proof.
  assert (P := PI_RGT_0). assert (0 < sqrt (PI / 2)) by (apply sqrt_lt_R0; lra).
  replace (sqrt (2 * PI)) with (2 * sqrt (PI / 2)); [field; lra|].
  replace (2 * PI) with (2 * 2 * (PI / 2)) by field. rewrite sqrt_mult, sqrt_square by lra. reflexivity.
Qed.

Lemma gaussian_is_bell x : gaussian 0 x = scal (/ sqrt (2 * PI)) (bell x).
Proof. unfold gaussian, bell, scal; simpl. unfold mult; simpl. rewrite Rminus_0_r. unfold Rdiv. ring. Qed.

Lemma gaussian_integrable a b : ex_RInt (gaussian 0) a b.
Proof.
  apply ex_RInt_ext with (fun x => scal (/ sqrt (2 * PI)) (bell x)); [intros; now rewrite gaussian_is_bell|].
  apply (ex_RInt_scal (V := R_NormedModule)), bell_integrable.
Qed.

Lemma gaussian_continuous x : continuous (gaussian 0) x.
Proof.
  apply continuous_ext with (fun x => scal (/ sqrt (2 * PI)) (bell x)); [intros; now rewrite gaussian_is_bell|].
  apply (continuous_scal_r (V := R_NormedModule)), bell_continuous.
Qed.

Lemma Phi_by_bell x : Phi x = 1 / 2 + / sqrt (2 * PI) * bell_up_to x.
Proof.
  unfold Phi. f_equal. apply is_RInt_unique.
  apply is_RInt_ext with (fun x => scal (/ sqrt (2 * PI)) (bell x)); [intros; now rewrite gaussian_is_bell|].
  apply (is_RInt_scal (V := R_NormedModule)), (RInt_correct (V := R_CompleteNormedModule)), bell_integrable.
Qed.

Lemma Phi_derivative x : is_derive Phi x (gaussian 0 x).
Proof.
  apply (is_derive_ext (fun x => 1 / 2 + / sqrt (2 * PI) * bell_up_to x)); [intros; now rewrite Phi_by_bell|].
  rewrite gaussian_is_bell. evar_last.
  - apply @is_derive_plus; [apply @is_derive_const|apply (is_derive_scal bell_up_to x _ _ (bell_up_to_derivative x))].
  - unfold plus, zero, scal; simpl. unfold mult; simpl. ring.
Qed.

Lemma Phi_at_infinity : filterlim Phi (Rbar_locally p_infty) (locally 1).
Proof.
  apply (filterlim_ext (fun x => 1 / 2 + / sqrt (2 * PI) * bell_up_to x)); [intros; now rewrite Phi_by_bell|].
  assert (E : 1 / 2 + / sqrt (2 * PI) * sqrt (PI / 2) = 1).
  { rewrite (Rmult_comm (/ _)). change (sqrt (PI / 2) * / sqrt (2 * PI)) with (sqrt (PI / 2) / sqrt (2 * PI)).
    rewrite root_of_2_PI. field. }
  enough (L : filterlim (fun x => 1 / 2 + / sqrt (2 * PI) * bell_up_to x) (Rbar_locally p_infty)
    (locally (1 / 2 + / sqrt (2 * PI) * sqrt (PI / 2)))) by now rewrite E in L.
  apply (filterlim_comp _ _ _ bell_up_to (fun y => 1 / 2 + / sqrt (2 * PI) * y) _ (locally (sqrt (PI / 2)))).
  - apply bell_up_to_limit.
  - apply (ex_derive_continuous (V := R_NormedModule) (fun y => 1 / 2 + / sqrt (2 * PI) * y)). auto_derive. exact I.
Qed.

Theorem gaussian_above : forall a, is_integral_above a (gaussian 0) (1 - Phi a).
Proof.
  intros a. apply (integral_by_antiderivative Phi (gaussian 0) (Phi a) 1).
  - apply Phi_derivative.
  - apply gaussian_continuous.
  - apply limit_at_point.
  - apply Phi_at_infinity.
Qed.

Theorem Phi_is_symmetric : forall x, Phi (- x) = 1 - Phi x.
Proof.
  intros x. unfold Phi. enough (RInt (gaussian 0) 0 (- x) = - RInt (gaussian 0) 0 x) by lra.
  apply is_RInt_unique. apply (is_RInt_ext (fun y => scal (-1) (opp (gaussian 0 (-1 * y + 0))))).
  { intros y _. unfold scal, opp, gaussian; simpl. unfold mult; simpl. rewrite !Rminus_0_r.
    replace (- ((-1 * y + 0) * ((-1 * y + 0) * 1)) / 2) with (- (y * (y * 1)) / 2) by field. ring. }
  replace (- RInt (gaussian 0) 0 x) with (opp (RInt (gaussian 0) 0 x)) by reflexivity.
  apply (is_RInt_comp_lin (fun y => opp (gaussian 0 y)) (-1) 0 0 (- x)).
  replace (-1 * 0 + 0) with 0 by ring. replace (-1 * - x + 0) with x by ring.
  apply (is_RInt_opp (V := R_NormedModule)), (RInt_correct (V := R_CompleteNormedModule)), gaussian_integrable.
Qed.

Theorem gaussian_profile_in_closed_form : forall mu epsilon, 0 < mu ->
  is_profile (gaussian mu) (gaussian 0) epsilon (gaussian_profile mu epsilon).
Proof.
  intros mu epsilon M. unfold gaussian_profile.
  replace (Phi (mu / 2 - epsilon / mu)) with (1 - Phi (epsilon / mu - mu / 2))
    by (rewrite <- Phi_is_symmetric; f_equal; ring).
  replace (Phi (- mu / 2 - epsilon / mu)) with (1 - Phi (epsilon / mu + mu / 2))
    by (rewrite <- Phi_is_symmetric; f_equal; field; lra).
  apply gaussian_profile_by_tails; [exact M| |]; apply gaussian_above.
Qed.

Theorem gaussian_is_a_density : forall mean, is_density (gaussian mean).
Proof.
  intros mean. split; [intros x; apply Rlt_le, gaussian_is_positive|].
  assert (E : forall x, gaussian 0 (x - mean) = gaussian mean x)
    by (intros x; unfold gaussian; now rewrite Rminus_0_r).
  unfold is_integral_over_line. rewrite <- (Rminus_0_r 1).
  apply (integral_by_antiderivative (fun x => Phi (x - mean)) (gaussian mean) 0 1).
  - intros x. rewrite <- E. evar_last.
    + apply (is_derive_comp Phi (fun x => x - mean) x _ 1 (Phi_derivative (x - mean))). auto_derive; [exact I|ring].
    + unfold scal; simpl. unfold mult; simpl. ring.
  - intros x. apply (ex_derive_continuous (V := R_NormedModule)). unfold gaussian. auto_derive. exact I.
  - apply (filterlim_ext (fun x => 1 - Phi (mean - x))).
    { intros x. rewrite <- Phi_is_symmetric. f_equal. ring. }
    replace 0 with (1 - 1) by ring.
    apply (filterlim_comp _ _ _ (fun x => Phi (mean - x)) (fun y => 1 - y) _ (locally 1)).
    + apply (filterlim_comp _ _ _ (fun x => mean - x) Phi _ (Rbar_locally p_infty)); [|apply Phi_at_infinity].
      intros P [M HM]. exists (mean - M). intros x X. apply HM. lra.
    + apply (ex_derive_continuous (V := R_NormedModule) (fun y => 1 - y)). auto_derive. exact I.
  - apply (filterlim_comp _ _ _ (fun x => x - mean) Phi _ (Rbar_locally p_infty)); [|apply Phi_at_infinity].
    intros P [M HM]. exists (M + mean). intros x X. apply HM. lra.
Qed.
